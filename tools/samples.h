// Samples, sets of inputs, from folders of .npy files.
#pragma once

#include <string>
#include <vector>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

// One sample per subfolder of `folder`, in the order of their names; without subfolders, the folder
// itself is one sample. In each, input j of the net is `input_j.npy` or `NAME.npy` (characters
// outside A-Za-z0-9._- as `_`); other files are ignored. invalid_argument if an input is missing,
// naming folder and file.
Result<std::vector<NamedTensors>> read_samples(const std::string& folder, const Net& net);

// The sample in one folder.
Result<NamedTensors> read_sample(const std::string& folder, const Net& net);

// The file name that stands for a tensor: NAME.npy.
std::string npy_name(const std::string& tensor);

}  // namespace softneuro::tool
