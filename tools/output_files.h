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

// Whether a file can be made there: not_found where its folder is not, io_error where nothing can
// be written in it or `path` is a folder. For work that would be lost otherwise.
Status check_place(const std::string& path);

}  // namespace softneuro::tool
