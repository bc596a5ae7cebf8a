// A command of the user's that says how good a net's outputs are.
#pragma once

#include <string>
#include <vector>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

// Writes the outputs of sample K to DIR/K/NAME.npy in a temporary folder, runs `command DIR` in a
// shell, and gives the number in the last line that it prints. invalid_argument if it fails or
// prints no number.
Result<double> score_by_command(const std::string& command,
                                const std::vector<NamedTensors>& outputs);

// Whether a shell can run `command`, as far as its first word tells: a name that it does not find
// is none. Commands that begin otherwise (quotes, assignments, brackets) are taken for one.
bool is_command(const std::string& command);

}  // namespace softneuro::tool
