#include "import/onnx/node.h"
#include "import/onnx/window.h"

namespace softneuro::onnx {
namespace {

void import_pool(Node& node) {
  const int dims = spatial_dims(node, "kernel_shape", node.input(0));
  LayerParams params = window_params(node, dims);
  params.set("kernel", node.required_integers("kernel_shape"));
  params.set("ceil_mode", node.integer("ceil_mode", 0));
  node.finish(spatial_type(node.detail(), dims), node.inputs(),
              row_params(node, std::move(params)));
}

void import_max_unpool(Node& node) {
  LayerParams params;
  const int dims = spatial_dims(node, "kernel_shape", node.input(0));
  params.set("kernel", node.required_integers("kernel_shape"));
  params.set("strides", spatial_integers(node, "strides", dims));
  params.set("pads", spatial_integers(node, "pads", 2 * dims));
  node.finish("max_unpool", {node.input(0), node.input(1), node.input(2)}, params);
}

// All dimensions behind N and C.
TensorId spatial_axes(Node& node) {
  return integers_constant(node, axes_between(2, node.need_rank(node.input(0))));
}

LayerParams global_params(std::string_view op) {
  // A tensor without spatial dimensions stays as it is.
  return {{"op", std::string(op)}, {"keepdims", 1}, {"noop_with_empty_axes", 1}};
}

void import_global_pool(Node& node) {
  node.finish("reduce", {node.input(0), spatial_axes(node)}, global_params(node.detail()));
}

void import_global_lp_pool(Node& node) {
  const std::int64_t p = node.integer("p", 2);
  if (p < 1) return node.reject("p is {}, but must be positive", p);
  const TensorId axes = spatial_axes(node);
  if (p <= 2)
    return node.finish("reduce", {node.input(0), axes}, global_params(p == 1 ? "l1" : "l2"));
  const DataType type = node.type(node.input(0));
  const auto real_p = static_cast<double>(p);
  const TensorId powers =
      binary(node, "pow", unary(node, "abs", node.input(0)), number_constant(node, real_p, type));
  const TensorId sum = node.emit("reduce", {powers, axes}, global_params("sum"));
  node.finish("binary", {sum, number_constant(node, 1 / real_p, type)}, {{"op", "pow"}});
}

void import_roi_align(Node& node) {
  const bool half_pixel = node.opset() >= 16;
  const std::string coordinates = half_pixel
                                      ? node.choice("coordinate_transformation_mode", "half_pixel",
                                                    {"half_pixel", "output_half_pixel"})
                                      : "output_half_pixel";
  node.finish("roi_align", {node.input(0), node.input(1), node.input(2)},
              {{"mode", node.choice("mode", "avg", {"avg", "max"})},
               {"output_height", node.integer("output_height", 1)},
               {"output_width", node.integer("output_width", 1)},
               {"sampling_ratio", node.integer("sampling_ratio", 0)},
               {"spatial_scale", node.real("spatial_scale", 1)},
               {"coordinate_transformation_mode", coordinates}});
}

constexpr Operator kOperators[] = {
    {"AveragePool", 1, 1, 1, import_pool, "avg_pool", {{"count_include_pad", 0}}},
    {"GlobalAveragePool", 1, 1, 1, import_global_pool, "mean"},
    {"GlobalLpPool", 2, 1, 1, import_global_lp_pool},
    {"GlobalMaxPool", 1, 1, 1, import_global_pool, "max"},
    {"LpPool", 2, 1, 1, import_pool, "lp_pool", {{"p", 2}}},
    {"MaxPool", 1, 1, 1, import_pool, "max_pool", {{"storage_order", 0}}},
    {"MaxUnpool", 9, 2, 3, import_max_unpool},
    {"RoiAlign", 10, 3, 3, import_roi_align},
};

}  // namespace

std::span<const Operator> pooling_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
