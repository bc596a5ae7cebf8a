// What `softneuro tune` says of a tuning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

// For people. `metric`: what the error is, in a word.
void print_tune_report(const TuneReport& report, const std::string& metric);
// `output`: the file that was written; "": none.
nlohmann::json tune_report_json(const TuneReport& report, const std::string& output);

}  // namespace softneuro::tool
