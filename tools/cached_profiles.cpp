#include "cached_profiles.h"

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "command.h"
#include "core/base/machine.h"
#include "core/base/physical_cores.h"
#include "json_text.h"
#include "net/tuned_plan.h"
#include "output.h"
#include "profiler/cache/profile_cache.h"
#include "table.h"

namespace softneuro::tool {
namespace {

std::string remark_of(const RowKey& key, const Row& row) {
  if (const auto* const fact = std::get_if<Fact>(&row))
    return key.kind == RowKind::search_rounds
               ? counted(fact->value, "round")
               : counted(std::popcount(static_cast<std::uint64_t>(fact->value)), "usable set");
  const auto& profile = std::get<Profile>(row);
  return profile.wrong ? "wrong results" : profile.pruned ? "stopped early" : "";
}

nlohmann::json to_json(const RowKey& key, const Row& row) {
  nlohmann::json entry = {{"kind", to_string(key.kind)}, {"key", key.text}};
  if (const auto* const fact = std::get_if<Fact>(&row)) {
    entry["value"] = fact->value;
    return entry;
  }
  const auto& profile = std::get<Profile>(row);
  entry.update({{"us", profile.time_us},
                {"spread_us", profile.spread_us},
                {"error", profile.error},
                {"wrong", profile.wrong},
                {"stopped_early", profile.pruned}});
  return entry;
}

}  // namespace

int list_cached_profiles(const std::string& folder, int threads, bool json, bool quiet) {
  const auto place = cache_folder(folder);
  if (!place.ok()) return fail(place.status());
  if (threads == 0) threads = physical_cores();
  const std::string machine = machine_name(threads);
  ProfileCache cache;
  cache.open(*place, machine, threads, [&](const std::string& warning) {
    if (!quiet) print_error("softneuro: {}\n", warning);
  });
  if (json) {
    nlohmann::json report = {{"file", cache.path()},
                             {"machine", machine},
                             {"threads", threads},
                             {"rows", nlohmann::json::array()}};
    for (const auto& [key, row] : cache.rows()) report["rows"].push_back(to_json(key, row));
    print_lines(json_text(report));
    return kDone;
  }
  Table table({">µs", ">±", ">error", "kind", "remark", "key"});
  const auto number = [](const char* form, double value) {
    return value > 0 ? fmt::format(fmt::runtime(form), value) : std::string();
  };
  for (const auto& [key, row] : cache.rows()) {
    const auto* const known = std::get_if<Profile>(&row);
    const Profile profile = known != nullptr ? *known : Profile();
    table.add({number("{:.2f}", profile.time_us), number("{:.2f}", profile.spread_us),
               number("{:.1e}", profile.error), std::string(to_string(key.kind)),
               remark_of(key, row), key.text});
  }
  print_lines(table.str());
  print_out("\n{} entries for {}, {}, in '{}'\n", cache.size(), machine, counted(threads, "thread"),
            cache.path().empty() ? *place : cache.path());
  return kDone;
}

}  // namespace softneuro::tool
