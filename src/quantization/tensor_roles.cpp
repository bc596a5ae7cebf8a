#include "quantization/tensor_roles.h"

#include <algorithm>
#include <string_view>

#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr int kUnset = -2, kContradicting = -1;

constexpr std::string_view kMovers[] = {
    "transpose",      "slice",          "split",     "gather",    "tile",     "expand",
    "depth_to_space", "space_to_depth", "max_pool1", "max_pool2", "max_pool3"};

}  // namespace

std::vector<int> channel_axes(const Graph& graph) {
  std::vector<int> axes(graph.tensor_count(), kUnset);
  for (const Layer& layer : graph.layers()) {
    const bool conv = layer.type->name.starts_with("conv");
    if ((!conv && layer.type->name != "dense") || layer.inputs.empty()) continue;
    const TensorId x = layer.inputs[0];
    if (x == kNoTensor || !graph.tensor(x).shape.ranked()) continue;
    const int axis = conv ? 1 : graph.tensor(x).shape.rank() - 1;
    axes[x] = axes[x] == kUnset || axes[x] == axis ? axis : kContradicting;
  }
  for (int& axis : axes) axis = std::max(axis, kContradicting);
  return axes;
}

bool moves_elements(const Layer& layer) {
  if (!layer.post_ops.empty() || layer.inputs.empty() || layer.inputs[0] == kNoTensor) return false;
  return layer.type->is_view ||
         std::find(std::begin(kMovers), std::end(kMovers), layer.type->name) != std::end(kMovers);
}

}  // namespace softneuro
