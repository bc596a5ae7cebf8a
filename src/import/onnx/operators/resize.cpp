// Resampling: Upsample, Resize, and sampling at given places.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

TensorId scales_constant(Node& node, const std::vector<double>& values) {
  const std::vector<float> scales(values.begin(), values.end());
  return node.constant(node.take(Tensor::from(scales, {static_cast<std::int64_t>(scales.size())})),
                       "scales");
}

// Upsample, and Resize in its first form: output pixel i is taken at i / scale.
void finish_asymmetric(Node& node, TensorId scales) {
  std::string mode = node.choice("mode", "nearest", {"nearest", "linear", "bilinear"});
  if (mode == "bilinear") mode = "linear";
  node.finish("resize", {node.input(0), kNoTensor, scales},
              {{"mode", mode}, {"coordinate_mode", "asymmetric"}, {"nearest_mode", "floor"}});
}

void import_upsample_attribute(Node& node) {
  if (node.has("scales"))
    return finish_asymmetric(node, scales_constant(node, node.reals("scales")));
  // Operator set 1, which some exporters kept writing.
  const std::vector<double> scales{1, 1, node.real("height_scale", 0), node.real("width_scale", 0)};
  if (scales[2] <= 0 || scales[3] <= 0) return node.reject("the attribute 'scales' is missing");
  finish_asymmetric(node, scales_constant(node, scales));
}

void import_asymmetric(Node& node) {
  finish_asymmetric(node, node.input(1));
}

// A left-out input may also be given as a tensor without elements.
TensorId unless_empty(const Node& node, TensorId id) {
  if (id == kNoTensor) return id;
  const DynamicShape& shape = node.shape(id);
  return shape.ranked() && shape.rank() == 1 && shape[0].value == 0 ? kNoTensor : id;
}

void import_resize(Node& node) {
  LayerParams params{
      {"mode", node.choice("mode", "nearest", {"nearest", "linear", "cubic"})},
      {"coordinate_mode",
       node.choice("coordinate_transformation_mode", "half_pixel",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"})},
      {"nearest_mode", node.choice("nearest_mode", "round_prefer_floor",
                                   {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})},
      {"cubic_coeff_a", node.real("cubic_coeff_a", -0.75)},
      {"exclude_outside", node.integer("exclude_outside", 0)},
      {"extrapolation_value", node.real("extrapolation_value", 0)}};
  if (node.opset() >= 18) {
    params.set("antialias", node.integer("antialias", 0));
    params.set("axes", node.integers("axes"));
    params.set("keep_aspect_ratio_policy", node.choice("keep_aspect_ratio_policy", "stretch",
                                                       {"stretch", "not_larger", "not_smaller"}));
  }
  const TensorId scales = unless_empty(node, node.input(2));
  const TensorId sizes = unless_empty(node, node.input(3));
  if (scales == kNoTensor && sizes == kNoTensor)
    return node.reject("neither scales nor sizes are given");
  // Only this mode reads the region.
  const bool crops = node.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  const TensorId roi = crops ? unless_empty(node, node.input(1)) : kNoTensor;
  node.finish("resize", {node.input(0), roi, sizes != kNoTensor ? kNoTensor : scales, sizes},
              params);
}

void import_grid_sample(Node& node) {
  std::string mode = node.choice("mode", node.opset() < 20 ? "bilinear" : "linear",
                                 {"bilinear", "linear", "nearest", "bicubic", "cubic"});
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  node.finish("grid_sample", {node.input(0), node.input(1)},
              {{"mode", mode},
               {"padding", node.choice("padding_mode", "zeros", {"zeros", "border", "reflection"})},
               {"align_corners", node.integer("align_corners", 0)}});
}

// Coordinates of `size` places between −1 and 1: the pixels' centres, or, if not
// `align_corners`, the centres of equal parts.
TensorId grid_axis(Node& node, TensorId size, bool align_corners, DataType type) {
  const TensorId count = cast(node, size, type);
  const TensorId zero = number_constant(node, 0, type);
  const TensorId one = number_constant(node, 1, type);
  const TensorId steps = node.emit("range", {zero, count, one});
  if (!align_corners) {
    // (2 i + 1) / size − 1
    return unary(node, "linear", binary(node, "div", unary(node, "linear", steps, 2, 1), count), 1,
                 -1);
  }
  // 2 i / (size − 1) − 1; a single place lies at −1.
  const TensorId last = binary(node, "max", binary(node, "sub", count, one), one);
  return unary(node, "linear", binary(node, "div", unary(node, "linear", steps, 2), last), 1, -1);
}

// theta · (x, y[, z], 1) for every place of a grid of the given size [N, C, spatial…].
void import_affine_grid(Node& node) {
  const TensorId theta = node.input(0);
  const TensorId size = node.input(1);
  const bool align_corners = node.integer("align_corners", 0) != 0;
  const DataType type = node.type(theta);
  const std::int64_t dims = node.need_dim(size, 0) - 2;
  if (node.failed()) return;
  if (dims != 2 && dims != 3)
    return node.reject("the size has {} values, expected 4 or 5", dims + 2);

  const TensorId spatial =
      node.emit("slice", {size, integers_constant(node, {2}), integers_constant(node, {dims + 2})});
  std::vector<TensorId> columns;  // x first: the last spatial dimension
  for (std::int64_t i = dims - 1; i >= 0; --i) {
    const TensorId length = node.emit("gather", {spatial, integer_constant(node, i)});
    TensorId places = grid_axis(node, length, align_corners, type);
    places = unsqueeze(node, places, axes_between(1, dims - i));
    columns.push_back(unsqueeze(node, node.emit("expand", {places, spatial}), {dims}));
  }
  columns.push_back(node.emit(
      "fill", {node.emit("concat", {spatial, integers_constant(node, {1})}, {{"axis", 0}}),
               number_constant(node, 1, type)}));
  // [spatial…, dims + 1] → [1, places, dims + 1] · [N, dims + 1, dims]
  const TensorId places = node.emit("concat", columns, {{"axis", dims}});
  const TensorId list = node.emit("reshape", {places, integers_constant(node, {1, -1, dims + 1})});
  const TensorId product = node.emit("matmul", {list, theta}, {{"transpose_b", 1}});
  const TensorId batch =
      node.emit("slice", {size, integers_constant(node, {0}), integers_constant(node, {1})});
  const TensorId shape =
      node.emit("concat", {batch, spatial, integers_constant(node, {dims})}, {{"axis", 0}});
  node.finish("reshape", {product, shape});
}

constexpr Operator kOperators[] = {
    {"AffineGrid", 20, 2, 2, import_affine_grid},     {"GridSample", 16, 2, 2, import_grid_sample},
    {"Resize", 10, 2, 2, import_asymmetric},          {"Resize", 11, 1, 4, import_resize},
    {"Upsample", 1, 1, 1, import_upsample_attribute}, {"Upsample", 9, 2, 2, import_asymmetric},
};

}  // namespace

std::span<const Operator> resize_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
