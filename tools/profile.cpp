// softneuro profile: where the time of a net goes, layer by layer; and what tuning has measured.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cached_profiles.h"
#include "json_text.h"
#include "output.h"
#include "profile_report.h"

namespace softneuro::tool {
namespace {

struct ProfileArguments : NetArguments {
  double seconds = 3;
  ProfileFiles files;
  bool cached = false;
  std::string cache;
};

int profile_net(const ProfileArguments& arguments) {
  std::optional<PreparedRun> run;
  if (const int status = prepare_run(arguments, run); status != kDone) return status;
  const auto profile = profile_layers(*run, arguments.seconds);
  if (!profile.ok()) return fail(profile.status());
  if (Status status = write_profile_files(*profile, *run, arguments.path, arguments.files);
      !status.ok())
    return fail(status);
  if (arguments.json)
    print_lines(json_text(nlohmann::json{{"layers", profile_json(*profile)},
                                         {"layers_sum_ms", profile->sum_us * 1e-3},
                                         {"median_ms", profile->untraced.median_ms()},
                                         {"min_ms", profile->untraced.min_ms()},
                                         {"traced_median_ms", profile->traced.median_ms()},
                                         {"runs", profile->untraced.ms.size()}}));
  else
    print_lines(profile_table(*profile));
  return kDone;
}

}  // namespace

Command add_profile(CLI::App& app) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command =
      app.add_subcommand("profile", "measure the time per layer, or list what tuning has measured");
  add_net_option(*command, *arguments);
  command->get_option("NET")->required(false);
  add_shape_option(*command, *arguments);
  add_input_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->add_option("--seconds", arguments->seconds, "how long to measure (default 3)")
      ->check(CLI::Range(0.0, 86400.0));
  add_profile_files(*command, arguments->files);
  command->add_flag("--cached", arguments->cached,
                    "list the profile cache of this machine and --threads instead");
  add_cache_option(*command, arguments->cache);
  return {command, [arguments] {
            if (arguments->cached)
              return list_cached_profiles(arguments->cache, arguments->threads, arguments->json,
                                          arguments->quiet);
            if (arguments->path.empty()) return wrong_usage("NET is required");
            return profile_net(*arguments);
          }};
}

}  // namespace softneuro::tool
