#include "core/layers/resize.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr std::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
constexpr std::string_view kPolicies[] = {"stretch", "not_larger", "not_smaller"};

// The axes that are resized, in the order of scales and sizes.
Result<std::vector<std::size_t>> resized_axes(const Params& params, int rank) {
  SN_ASSIGN_OR_RETURN(const std::vector<int> axes,
                      distinct_axes(params.integers("axes"), rank, rank));
  return std::vector<std::size_t>(axes.begin(), axes.end());
}

Status check_count(const char* name, std::size_t count, std::size_t expected) {
  if (count == expected) return {};
  return invalid_model("{} has {} entries, must have {}", name, count, expected);
}

Status apply_scale(ResizeAxis& axis, double scale) {
  if (!(scale > 0) || !std::isfinite(scale))
    return invalid_model("scales holds {}, must be above 0", scale);
  axis.scale = scale;
  if (scale == 1) {
    axis.length = static_cast<double>(axis.input.value);
    return {};
  }
  axis.output = Dim();
  if (!axis.input.known()) return {};
  axis.length = static_cast<double>(axis.input.value) * scale;
  // As float, in which scales are given: 10 · 0.7f is 7, as a model with 0.7 expects.
  const double rounded =
      axis.input.value < (1 << 24)
          ? static_cast<double>(static_cast<float>(axis.input.value) * static_cast<float>(scale))
          : axis.length;
  if (!(rounded < 0x1p62)) return invalid_model("scale {} makes too many elements", scale);
  axis.output = Dim(static_cast<std::int64_t>(rounded));
  return {};
}

Status apply_size(ResizeAxis& axis, std::int64_t size) {
  if (size < 0) return invalid_model("sizes holds {}, must not be negative", size);
  axis.output = Dim(size);
  axis.length = static_cast<double>(size);
  if (!axis.input.known()) return {};
  if (axis.input.value == 0 && size > 0)
    return invalid_model("an axis without elements cannot become {} long", size);
  if (axis.input.value > 0)
    axis.scale = static_cast<double>(size) / static_cast<double>(axis.input.value);
  return {};
}

// All resized axes take the smallest, or largest, scale that one of them asks for.
Status keep_aspect_ratio(std::vector<ResizeAxis>& all, std::span<const std::size_t> axes,
                         ResizePolicy policy) {
  bool known = true;
  double scale = policy == ResizePolicy::not_larger ? INFINITY : 0;
  for (const std::size_t i : axes) {
    known = known && all[i].input.known();
    scale = policy == ResizePolicy::not_larger ? std::min(scale, all[i].scale)
                                               : std::max(scale, all[i].scale);
  }
  for (const std::size_t i : axes) {
    all[i].output = Dim();
    if (!known) continue;
    all[i].scale = scale;
    all[i].length = scale * static_cast<double>(all[i].input.value);
    if (!(all[i].length < 0x1p62)) return invalid_model("sizes make too many elements");
    all[i].output = Dim(static_cast<std::int64_t>(std::floor(all[i].length + 0.5)));
  }
  return {};
}

Status apply_roi(std::vector<ResizeAxis>& all, std::span<const std::size_t> axes,
                 std::span<const double> roi) {
  SN_RETURN_IF_ERROR(check_count("roi", roi.size(), 2 * axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]].roi_start = roi[i];
    all[axes[i]].roi_end = roi[i + axes.size()];
    if (!std::isfinite(roi[i]) || !std::isfinite(roi[i + axes.size()]))
      return invalid_model("roi holds a number that is not finite");
  }
  return {};
}

// Given, and not as an empty tensor, which exporters write for "left out".
bool is_given(const InferContext& context, std::size_t i) {
  if (!context.has_input(i)) return false;
  const DynamicShape& shape = context.shape(i);
  return !shape.ranked() || shape.rank() != 1 || shape[0].value != 0;
}

Status check_inputs(const InferContext& context, const ResizeOptions& options) {
  for (const std::size_t i : {1, 2})
    if (is_given(context, i)) SN_RETURN_IF_ERROR(context.expect_type(i, kFloatTypes));
  if (is_given(context, 3)) SN_RETURN_IF_ERROR(context.expect_type(3, kIndexTypes));
  if (is_given(context, 2) == is_given(context, 3))
    return invalid_model("either scales or sizes must be given, and not both");
  if (options.coordinates == ResizeCoordinates::tf_crop_and_resize && !is_given(context, 1))
    return invalid_model("coordinate_mode tf_crop_and_resize needs roi");
  const DataType type = context.type(0);
  if (options.mode != ResizeMode::nearest && !is_float(type) && !is_integer(type))
    return invalid_model("input 0 is {}, of which there is no mean", to_string(type));
  return {};
}

Status infer(InferContext& context) {
  SN_ASSIGN_OR_RETURN(const ResizeOptions options, resize_options(context.params()));
  SN_RETURN_IF_ERROR(check_inputs(context, options));
  DynamicShape y;
  if (const DynamicShape& x = context.shape(0); x.ranked()) {
    ResizeRequest request;
    request.roi = is_given(context, 1) ? reals_of(context.input(1).value) : std::nullopt;
    request.scales = is_given(context, 2) ? reals_of(context.input(2).value) : std::nullopt;
    if (is_given(context, 3)) request.sizes = context.integers(3);
    SN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                        resize_axes(x.dims(), context.params(), request));
    y = x;
    for (int i = 0; i < x.rank(); ++i) y[i] = axes[static_cast<std::size_t>(i)].output;
  }
  return context.set_shape(std::move(y));
}

}  // namespace

Result<ResizeOptions> resize_options(const Params& params) {
  SN_ASSIGN_OR_RETURN(const int mode, choice_of(params, "mode", kModes));
  SN_ASSIGN_OR_RETURN(const int coordinates, choice_of(params, "coordinate_mode", kCoordinates));
  SN_ASSIGN_OR_RETURN(const int rounding, choice_of(params, "nearest_mode", kRoundings));
  SN_ASSIGN_OR_RETURN(const int policy, choice_of(params, "keep_aspect_ratio_policy", kPolicies));
  ResizeOptions options;
  options.mode = static_cast<ResizeMode>(mode);
  options.coordinates = static_cast<ResizeCoordinates>(coordinates);
  options.rounding = static_cast<ResizeRounding>(rounding);
  options.policy = static_cast<ResizePolicy>(policy);
  options.cubic_coeff_a = params.real("cubic_coeff_a");
  options.exclude_outside = params.integer("exclude_outside") != 0;
  options.extrapolation_value = params.real("extrapolation_value");
  options.antialias = params.integer("antialias") != 0;
  if (!std::isfinite(options.cubic_coeff_a))
    return invalid_model("cubic_coeff_a is {}: must be a finite number", options.cubic_coeff_a);
  return options;
}

std::optional<std::vector<double>> reals_of(const Tensor* tensor) {
  if (!tensor || tensor->empty() || tensor->elements() <= 0) return std::nullopt;
  const TensorView view = view_of(*tensor);
  std::vector<double> values(static_cast<std::size_t>(tensor->elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load(view, static_cast<std::int64_t>(i));
  return values;
}

Result<std::vector<ResizeAxis>> resize_axes(std::span<const Dim> x, const Params& params,
                                            const ResizeRequest& request) {
  SN_ASSIGN_OR_RETURN(const ResizeOptions options, resize_options(params));
  SN_ASSIGN_OR_RETURN(const std::vector<std::size_t> axes,
                      resized_axes(params, static_cast<int>(x.size())));
  std::vector<ResizeAxis> all;
  for (const Dim& dim : x)
    all.push_back({.input = dim, .output = dim, .length = static_cast<double>(dim.value)});
  if (options.coordinates == ResizeCoordinates::tf_crop_and_resize && request.roi)
    SN_RETURN_IF_ERROR(apply_roi(all, axes, *request.roi));
  if (request.scales) {
    SN_RETURN_IF_ERROR(check_count("scales", request.scales->size(), axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      SN_RETURN_IF_ERROR(apply_scale(all[axes[i]], (*request.scales)[i]));
  } else if (request.sizes) {
    SN_RETURN_IF_ERROR(check_count("sizes", request.sizes->size(), axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      SN_RETURN_IF_ERROR(apply_size(all[axes[i]], (*request.sizes)[i]));
    if (options.policy != ResizePolicy::stretch)
      SN_RETURN_IF_ERROR(keep_aspect_ratio(all, axes, options.policy));
  } else {
    for (const std::size_t i : axes) all[i].output = Dim();
  }
  return all;
}

namespace {

// By scales other than 1 an image can keep its size and yet change.
int equal_input(const InferContext& context) {
  const bool same = context.keeps_shape(0) &&
                    context.params().text("coordinate_mode") != "tf_crop_and_resize" &&
                    context.all_equal(2, 1);
  return same ? 0 : -1;
}

}  // namespace

Status register_layer_resize(LayerTypes& types) {
  return types.add(
      {.name = "resize",
       .doc = "x sampled on a finer or coarser grid, axis by axis. Input 0: x. Input 1 (optional): "
              "roi, real, all starts then all ends, as parts of the axis: for coordinate_mode "
              "tf_crop_and_resize. Input 2 or 3: scales (real; the output is ⌊dimension · scale⌋ "
              "long) or sizes (int64), one per axis in `axes`. Output 0: x's type and rank.",
       .params =
           {{"mode", "nearest", "nearest, linear or cubic (over all axes: bilinear, bicubic, …)"},
            {"coordinate_mode", "half_pixel",
             "how output indices become positions: half_pixel, half_pixel_symmetric, "
             "pytorch_half_pixel, align_corners, asymmetric, tf_half_pixel_for_nn, "
             "tf_crop_and_resize"},
            {"nearest_mode", "round_prefer_floor",
             "round_prefer_floor, round_prefer_ceil, floor or ceil"},
            {"cubic_coeff_a", -0.75, "the cubic kernel's a"},
            {"exclude_outside", 0, "1: weights of places outside x become 0, the others sum to 1"},
            {"extrapolation_value", 0.0, "for positions outside x with tf_crop_and_resize"},
            {"antialias", 0, "1: where an axis shrinks, linear and cubic stretch their kernel"},
            {"axes", std::vector<std::int64_t>{},
             "axes that roi, scales and sizes refer to; empty: all"},
            {"keep_aspect_ratio_policy", "stretch",
             "with sizes: stretch (as given), not_larger or not_smaller (one scale for all axes)"}},
       .inputs = {1, 4},
       .value_inputs = {{1, ValueKind::size}, {2, ValueKind::size}, {3, ValueKind::size}},
       .infer = infer,
       .equal_input = equal_input});
}

}  // namespace softneuro
