// softneuro compare --model: are the outputs of a net those of the model that it was made from?
#pragma once

#include "command.h"

namespace softneuro::tool {

// `model`: the file. On the --input tensors, or on inputs that are made. Gives the exit status.
int compare_with_model(const NetArguments& arguments, const std::string& model);

}  // namespace softneuro::tool
