#include "import/onnx/window.h"

#include "core/layers/window.h"

namespace softneuro::onnx {

int spatial_dims(Node& node, std::string_view attribute, TensorId tensor) {
  int dims = static_cast<int>(node.integers(attribute).size());
  if (dims == 0) dims = node.need_rank(tensor) - 2;
  if (dims >= 1 && dims <= kMaxSpatialAxes) return dims;
  node.refuse("{} spatial dimensions: 1 to {} are supported", dims, kMaxSpatialAxes);
  return 1;
}

std::vector<std::int64_t> spatial_integers(Node& node, std::string_view name, int dims) {
  std::vector<std::int64_t> values = node.integers(name);
  if (!values.empty() && values.size() != static_cast<std::size_t>(dims))
    node.reject("the attribute '{}' has {} values for {} spatial dimensions", name, values.size(),
                dims);
  return values;
}

LayerParams window_params(Node& node, int dims) {
  LayerParams params;
  params.set("strides", spatial_integers(node, "strides", dims));
  if (node.has("dilations")) params.set("dilations", spatial_integers(node, "dilations", dims));
  const std::string rule =
      node.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  if (rule == "NOTSET") params.set("pads", spatial_integers(node, "pads", 2 * dims));
  params.set("auto_pad", rule == "NOTSET" ? "explicit" : lower_case(rule));
  return params;
}

std::string spatial_type(std::string_view family, int dims) {
  return fmt::format("{}{}", family, dims);
}

}  // namespace softneuro::onnx
