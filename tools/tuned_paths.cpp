#include "tuned_paths.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "table.h"

namespace softneuro::tool {

nlohmann::json paths_json(std::span<const TunedPathInfo> paths) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TunedPathInfo& path : paths) {
    nlohmann::json shapes = nlohmann::json::object();
    for (const auto& [input, shape] : path.shapes) shapes[input] = shape.dims();
    rows.push_back({{"machine", path.machine},
                    {"threads", path.threads},
                    {"schemas", path.schemas},
                    {"shapes", shapes},
                    {"tuned_ms", path.time_us * 1e-3},
                    {"untuned_ms", path.untuned_us * 1e-3},
                    {"error", path.error}});
  }
  return rows;
}

std::string paths_table(std::span<const TunedPathInfo> paths) {
  Table table({"tuned for", ">threads", "schemas", "shapes", ">untuned ms", ">tuned ms", ">error"});
  for (const TunedPathInfo& path : paths) {
    std::string shapes;
    for (const auto& [input, shape] : path.shapes)
      shapes += (shapes.empty() ? "" : " ") + input + '=' + shape.str();
    table.add({path.machine, std::to_string(path.threads),
               fmt::format("{}", fmt::join(path.schemas, ",")), shapes,
               fmt::format("{:.3f}", path.untuned_us * 1e-3),
               fmt::format("{:.3f}", path.time_us * 1e-3),
               path.error > 0 ? fmt::format("{:.2e}", path.error) : ""});
  }
  return table.str();
}

}  // namespace softneuro::tool
