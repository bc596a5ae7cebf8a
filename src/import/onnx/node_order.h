// The order of nodes. ONNX asks for each node behind those whose outputs it uses; tools that insert
// nodes leave them at the end all the same, and other runtimes sort.
#pragma once

#include <vector>

#include "import/onnx/onnx.pb.h"

namespace softneuro::onnx {

// Indices into `nodes`: each node behind those whose outputs it, or a graph inside of it, uses. The
// order of the file where it is such an order, and where there is none (a cycle); else the one that
// keeps nodes as early as it can.
std::vector<int> order_of(const google::protobuf::RepeatedPtrField<NodeProto>& nodes);

}  // namespace softneuro::onnx
