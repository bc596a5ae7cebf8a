// Models of any number of nodes, each of a form that some part of import or planning could take
// badly: long chains that merge, many readers of one tensor, many outputs, many constants.
#pragma once

#include <string>
#include <vector>

namespace softneuro::scale {

std::vector<std::string> model_names();

// The bytes of an ONNX file of about `nodes` nodes; empty for an unknown name. The input is
// x[1, 8], of float32.
std::string make_model(const std::string& name, int nodes);

}  // namespace softneuro::scale
