// softneuro bench: how long one run takes, and which layers take it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json_text.h"
#include "output.h"
#include "profile_report.h"

namespace softneuro::tool {
namespace {

struct BenchArguments : NetArguments {
  double seconds = 3;
  bool profile = false;
  ProfileFiles files;

  bool wants_layers() const { return profile || files.any(); }
};

// What other devices hold; "" if there is nothing.
std::string device_memory(const MemoryReport& memory) {
  if (memory.device_arenas + memory.device_packed_weights == 0) return "";
  return fmt::format("; on devices: arena {:.1f} MiB, packed {:.1f} MiB",
                     mebibytes(memory.device_arenas), mebibytes(memory.device_packed_weights));
}

void print_json(const PreparedRun& run, const RunTimes& times, const NetProfile* profile) {
  const MemoryReport memory = run.net.memory_report();
  nlohmann::json report = {{"median_ms", times.median_ms()},
                           {"min_ms", times.min_ms()},
                           {"runs", times.ms.size()},
                           {"arena_bytes", run.plan->arena_bytes()},
                           {"weight_bytes", memory.weights},
                           {"packed_weight_bytes", memory.packed_weights},
                           {"device_arena_bytes", memory.device_arenas},
                           {"device_packed_weight_bytes", memory.device_packed_weights}};
  if (profile != nullptr) {
    report["layers"] = profile_json(*profile);
    report["layers_sum_ms"] = profile->sum_us * 1e-3;
  }
  print_lines(json_text(report));
}

void print_text(const PreparedRun& run, const RunTimes& times, const NetProfile* profile) {
  if (profile != nullptr) print_lines(profile_table(*profile));
  const MemoryReport memory = run.net.memory_report();
  print_out(
      "median {:.3f} ms, min {:.3f} ms, {} runs; arena {:.1f} MiB, weights {:.1f} MiB, "
      "packed {:.1f} MiB{}\n",
      times.median_ms(), times.min_ms(), times.ms.size(), mebibytes(run.plan->arena_bytes()),
      mebibytes(memory.weights), mebibytes(memory.packed_weights), device_memory(memory));
}

int bench_net(const BenchArguments& arguments) {
  std::optional<PreparedRun> run;
  if (const int status = prepare_run(arguments, run); status != kDone) return status;
  NetProfile profile;
  RunTimes times;
  if (arguments.wants_layers()) {
    auto profiled = profile_layers(*run, arguments.seconds);
    if (!profiled.ok()) return fail(profiled.status());
    profile = *std::move(profiled);
    times = profile.untraced;
    if (Status status = write_profile_files(profile, *run, arguments.path, arguments.files);
        !status.ok())
      return fail(status);
  } else {
    auto measured = measure_runs(*run, arguments.seconds);
    if (!measured.ok()) return fail(measured.status());
    times = *std::move(measured);
  }
  const NetProfile* shown = arguments.profile ? &profile : nullptr;
  if (arguments.json)
    print_json(*run, times, shown);
  else
    print_text(*run, times, shown);
  return kDone;
}

}  // namespace

Command add_bench(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "measure the latency of a net");
  add_net_option(*command, *arguments);
  add_shape_option(*command, *arguments);
  add_input_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->add_option("--seconds", arguments->seconds, "how long to measure (default 3)")
      ->check(CLI::Range(0.0, 86400.0));
  command->add_flag("--profile", arguments->profile, "time per layer as well");
  add_profile_files(*command, arguments->files);
  return {command, [arguments] { return bench_net(*arguments); }};
}

}  // namespace softneuro::tool
