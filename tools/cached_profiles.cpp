#include "cached_profiles.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

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

const char* remark_of(const Profile& row) {
  return row.wrong ? "wrong results" : row.pruned ? "stopped early" : "";
}

// What an entry is, by the beginning of its key. A key without such a beginning names a candidate
// alone: problem, descriptor, parameters and versions.
const char* kind_of(const std::string& key) {
  const std::string_view begin = std::string_view(key).substr(0, key.find('|'));
  if (begin == "net") return "inside a net";
  if (begin == "end_to_end") return "end-to-end time";
  if (begin == "sensitivity") return "error power";
  if (begin == "path_error") return "error of a path";
  if (begin == "rounds") return "rounds done";
  if (begin == "verification") return "verification";
  if (begin == "inputs") return "synthetic inputs";
  return "unit time";
}

nlohmann::json to_json(const std::string& key, const Profile& row) {
  return {{"key", key},         {"us", row.time_us},  {"spread_us", row.spread_us},
          {"error", row.error}, {"wrong", row.wrong}, {"stopped_early", row.pruned}};
}

}  // namespace

int list_cached_profiles(const std::string& folder, int threads, bool json, bool quiet) {
  const auto place = cache_folder(folder);
  if (!place.ok()) return fail(place.status());
  if (threads == 0) threads = physical_cores();
  const std::string machine = machine_name(threads);
  ProfileCache cache;
  cache.open(*place, machine, threads, [&](const std::string& warning) {
    if (!quiet) complain("softneuro: {}\n", warning);
  });
  const std::map<std::string, Profile> rows(cache.rows().begin(), cache.rows().end());
  if (json) {
    nlohmann::json report = {{"file", cache.path()},
                             {"machine", machine},
                             {"threads", threads},
                             {"rows", nlohmann::json::array()}};
    for (const auto& [key, row] : rows) report["rows"].push_back(to_json(key, row));
    say_lines(json_text(report));
    return kDone;
  }
  Table table({">µs", ">±", ">error", "kind", "remark", "key"});
  for (const auto& [key, row] : rows)
    table.add({fmt::format("{:.2f}", row.time_us), fmt::format("{:.2f}", row.spread_us),
               row.error > 0 ? fmt::format("{:.1e}", row.error) : "", kind_of(key), remark_of(row),
               key});
  say_lines(table.str());
  say("\n{} entries for {}, {}, in '{}'\n", rows.size(), machine, counted(threads, "thread"),
      cache.path().empty() ? *place : cache.path());
  return kDone;
}

}  // namespace softneuro::tool
