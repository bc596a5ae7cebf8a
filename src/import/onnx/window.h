// The attributes that convolutions and poolings share.
#pragma once

#include "import/onnx/node.h"

namespace softneuro::onnx {

// How many spatial dimensions the node works on: from the attribute of that name, or else from the
// rank of a tensor [N, C, spatial…]. Fails unless it is 1 to kMaxSpatialAxes; the result is in that
// range even then, so that callers may count with it.
int spatial_dims(Node& node, std::string_view attribute, TensorId tensor);

// strides, pads, dilations and auto_pad, as the layer types' parameters; `dims` is checked
// against the lengths.
LayerParams window_params(Node& node, int dims);

// An attribute of `dims` integers, or an empty list.
std::vector<std::int64_t> spatial_integers(Node& node, std::string_view name, int dims);

// "conv" and 2 → "conv2".
std::string spatial_type(std::string_view family, int dims);

}  // namespace softneuro::onnx
