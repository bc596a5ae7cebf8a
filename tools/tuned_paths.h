// The tuned paths of a net, as people and programs read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "softneuro/tune.h"

namespace softneuro::tool {

// An object for each: machine, threads, schemas, shapes by input, tuned_ms and untuned_ms of one
// run, error (RMS(out − ref) / RMS(ref) against float32; 0: not measured).
nlohmann::json paths_json(std::span<const TunedPathInfo> paths);
std::string paths_table(std::span<const TunedPathInfo> paths);

}  // namespace softneuro::tool
