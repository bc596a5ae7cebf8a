// A net's outputs as .npy files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

// Writes each output to `folder`, which is made, as NAME.npy (samples.h); gives the files by
// output. io_error, also where two outputs would be one file.
Result<std::map<std::string, std::string>> write_outputs(const NamedTensors& outputs,
                                                         const std::filesystem::path& folder);

}  // namespace softneuro::tool
