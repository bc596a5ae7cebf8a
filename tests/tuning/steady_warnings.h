// What a tuning warns of on every machine, however busy.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "softneuro/tune.h"

namespace softneuro::test {

// The report's warnings without those that follow from measured times.
inline std::vector<std::string> steady_warnings(const TuneReport& report) {
  std::vector<std::string> warnings = report.warnings;
  std::erase_if(warnings, [](const std::string& warning) {
    return warning.find("other processes used the CPUs") != std::string::npos ||
           warning.find("was not measured to be faster") != std::string::npos;
  });
  return warnings;
}

}  // namespace softneuro::test
