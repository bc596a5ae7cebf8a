#include "quantization/tensor_roles.h"

#include <algorithm>

#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr int kUnset = -2, kContradicting = -1;

}  // namespace

std::vector<int> channel_axes(const Graph& graph) {
  std::vector<int> axes(graph.tensor_count(), kUnset);
  for (const Layer& layer : graph.layers()) {
    if (!layer.type->weights || layer.inputs.empty()) continue;
    const TensorId x = layer.inputs[0];
    if (x == kNoTensor || !graph.tensor(x).shape.ranked()) continue;
    const int axis = layer.type->weights->channel_axis_of(graph.tensor(x).shape.rank());
    axes[x] = axes[x] == kUnset || axes[x] == axis ? axis : kContradicting;
  }
  for (int& axis : axes) axis = std::max(axis, kContradicting);
  return axes;
}

bool moves_elements(const Layer& layer) {
  return layer.post_ops.empty() && !layer.inputs.empty() && layer.inputs[0] != kNoTensor &&
         layer.type->moves_elements();
}

bool joins_elements(const Layer& layer) {
  return layer.post_ops.empty() && layer.type->elements == ElementSource::all_inputs;
}

}  // namespace softneuro
