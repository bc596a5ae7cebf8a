#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace softneuro::tool {

// JSON of ASCII alone, with a line end: valid and harmless on a terminal whatever bytes a model's
// names are made of (what is no UTF-8 becomes U+FFFD).
inline std::string json_text(const nlohmann::json& value, int indent = 2) {
  return value.dump(indent, ' ', true, nlohmann::json::error_handler_t::replace) + '\n';
}

// A measured time, in microseconds, as milliseconds; null for 0: not measured.
inline nlohmann::json milliseconds(double us) {
  return us > 0 ? nlohmann::json(us * 1e-3) : nlohmann::json();
}

}  // namespace softneuro::tool
