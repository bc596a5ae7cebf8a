#include "import/onnx/node.h"
#include "import/onnx/window.h"

namespace softneuro::onnx {
namespace {

// The attribute repeats what the weights' shape says; a model that contradicts itself is refused.
void check_kernel_shape(Node& node, TensorId weights, int dims) {
  const std::vector<std::int64_t> kernel = spatial_integers(node, "kernel_shape", dims);
  for (int i = 0; i < static_cast<int>(kernel.size()) && !node.failed(); ++i) {
    const std::int64_t known = node.dim(weights, i + 2);
    if (known >= 0 && known != kernel[static_cast<std::size_t>(i)])
      node.reject("the attribute 'kernel_shape' contradicts the weights of shape {}",
                  node.shape(weights).str());
  }
}

int conv_dims(Node& node, TensorId weights) {
  const TensorId known = node.rank(weights) >= 0 ? weights : node.input(0);
  const int dims = spatial_dims(node, "kernel_shape", known);
  check_kernel_shape(node, weights, dims);
  return dims;
}

LayerParams conv_params(Node& node, int dims) {
  LayerParams params = window_params(node, dims);
  params.set("group", node.integer("group", 1));
  return params;
}

void import_conv(Node& node) {
  const int dims = conv_dims(node, node.input(1));
  node.finish(spatial_type("conv", dims), {node.input(0), node.input(1), node.input(2)},
              conv_params(node, dims));
}

void import_conv_transpose(Node& node) {
  const int dims = conv_dims(node, node.input(1));
  LayerParams params = conv_params(node, dims);
  params.set("output_padding", spatial_integers(node, "output_padding", dims));
  std::vector<std::int64_t> output_shape = node.integers("output_shape");
  // Some exporters give batch and channels as well.
  if (output_shape.size() == static_cast<std::size_t>(dims) + 2)
    output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  if (!output_shape.empty() && output_shape.size() != static_cast<std::size_t>(dims))
    node.reject("the attribute 'output_shape' has {} values for {} spatial dimensions",
                output_shape.size(), dims);
  params.set("output_shape", std::move(output_shape));
  node.finish(spatial_type("conv_transpose", dims), {node.input(0), node.input(1), node.input(2)},
              params);
}

// The axes that put a list of zero points along `axis` of a tensor of this rank; none for one
// value.
std::vector<std::int64_t> axes_of_list(const Node& node, TensorId list, int axis, int rank) {
  const bool is_list = node.rank(list) == 1 && node.dim(list, 0) != 1;
  return is_list ? axes_between(1, rank - axis) : std::vector<std::int64_t>{};
}

void import_conv_integer(Node& node) {
  const int dims = conv_dims(node, node.input(1));
  const TensorId x = less_zero_point(node, node.input(0), node.input(2),
                                     axes_of_list(node, node.input(2), 1, dims + 2));
  const TensorId weights = less_zero_point(node, node.input(1), node.input(3),
                                           axes_of_list(node, node.input(3), 0, dims + 2));
  node.finish(spatial_type("conv", dims), {x, weights}, conv_params(node, dims));
}

// Dequantised, convolved in real numbers, quantised again.
void import_qlinear_conv(Node& node) {
  const int dims = conv_dims(node, node.input(3));
  const TensorId x_scale = node.input(1);
  const TensorId w_scale = node.input(4);
  const TensorId x =
      node.emit("dequantize", {node.input(0), x_scale, node.input(2)}, {{"axis", 1}});
  const TensorId weights =
      node.emit("dequantize", {node.input(3), w_scale, node.input(5)}, {{"axis", 0}});
  TensorId bias = kNoTensor;
  if (node.has_input(8)) {
    // The bias is in units of x_scale · w_scale.
    const TensorId product = binary(node, "mul", x_scale, w_scale);
    bias = binary(node, "mul", cast(node, node.input(8), DataType::float32), product);
  }
  const TensorId y =
      node.emit(spatial_type("conv", dims), {x, weights, bias}, conv_params(node, dims));
  node.finish("quantize", {y, node.input(6), node.input(7)}, {{"axis", 1}});
}

constexpr Operator kOperators[] = {
    {"Conv", 1, 2, 3, import_conv},
    {"ConvInteger", 10, 2, 4, import_conv_integer},
    {"ConvTranspose", 1, 2, 3, import_conv_transpose},
    {"QLinearConv", 10, 8, 9, import_qlinear_conv},
};

}  // namespace

std::span<const Operator> convolution_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
