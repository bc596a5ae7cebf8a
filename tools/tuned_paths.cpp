#include "tuned_paths.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json_text.h"
#include "table.h"

namespace softneuro::tool {
namespace {

std::string milliseconds_text(double us) {
  return us > 0 ? fmt::format("{:.3f}", us * 1e-3) : "–";
}

}  // namespace

nlohmann::json paths_json(std::span<const TunedPathInfo> paths) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TunedPathInfo& path : paths) {
    nlohmann::json shapes = nlohmann::json::object();
    for (const auto& [input, shape] : path.shapes) shapes[input] = shape.dims();
    rows.push_back({{"machine", path.machine},
                    {"threads", path.threads},
                    {"schemas", path.schemas},
                    {"shapes", shapes},
                    {"tuned_ms", milliseconds(path.time_us)},
                    {"untuned_ms", milliseconds(path.untuned_us)},
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
               milliseconds_text(path.untuned_us), milliseconds_text(path.time_us),
               path.error > 0 ? fmt::format("{:.2e}", path.error) : ""});
  }
  return table.str();
}

}  // namespace softneuro::tool
