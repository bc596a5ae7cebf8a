#include <cmath>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

constexpr std::string_view kModes[] = {"avg", "max"};
constexpr std::string_view kCoordinates[] = {"half_pixel", "output_half_pixel"};
// Samples per bin and direction; more than the pixels of any image would not tell more.
constexpr std::int64_t kMaxSamplingRatio = 1 << 10;

Status check_params(const Params& params) {
  SN_RETURN_IF_ERROR(choice_of(params, "mode", kModes).status());
  SN_RETURN_IF_ERROR(choice_of(params, "coordinate_transformation_mode", kCoordinates).status());
  for (const char* name : {"output_height", "output_width"})
    if (params.integer(name) < 1)
      return invalid_model("{} is {}, must be at least 1", name, params.integer(name));
  const std::int64_t ratio = params.integer("sampling_ratio");
  if (ratio < 0 || ratio > kMaxSamplingRatio)
    return invalid_model("sampling_ratio is {}, must be in [0, {}]", ratio, kMaxSamplingRatio);
  if (!std::isfinite(params.real("spatial_scale")))
    return invalid_model("spatial_scale is {}: must be a finite number",
                         params.real("spatial_scale"));
  return {};
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(check_params(context.params()));
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_type(1, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_type(2, kIndexTypes));
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  SN_RETURN_IF_ERROR(context.expect_rank(1, 2));
  SN_RETURN_IF_ERROR(context.expect_rank(2, 1));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& rois = context.shape(1);
  const DynamicShape& batch = context.shape(2);
  if (rois.ranked() && rois[1].known() && rois[1].value != 4)
    return invalid_model("rois are {}, must be [regions, 4]", rois.str());
  if (x.ranked() && (x[2] == Dim(0) || x[3] == Dim(0)))
    return invalid_model("input 0 is {}: nothing to sample", x.str());
  const std::optional<Dim> regions =
      merge_dims(rois.ranked() ? rois[0] : Dim(), batch.ranked() ? batch[0] : Dim());
  if (!regions)
    return invalid_model("rois are {}, but there are {} batch_indices", rois.str(), batch.str());
  return context.set_shape(DynamicShape({*regions, x.ranked() ? x[1] : Dim(),
                                         Dim(context.params().integer("output_height")),
                                         Dim(context.params().integer("output_width"))}));
}

}  // namespace

Status register_layer_roi_align(LayerTypes& types) {
  return types.add(
      {.name = "roi_align",
       .doc = "Regions of x pooled to one size, from bilinear samples. Input 0: x [N, C, H, W], "
              "real. Input 1: rois [R, 4]: x1, y1, x2, y2. Input 2: batch_indices [R], int64: "
              "which image. Output 0: x's type, [R, C, output_height, output_width].",
       .params =
           {{"mode", "avg", "avg: mean of a bin's samples; max: largest of their weighted corners"},
            {"output_height", 1, "bins per column"},
            {"output_width", 1, "bins per row"},
            {"sampling_ratio", 0, "samples per bin and direction; 0: about one per pixel"},
            {"spatial_scale", 1.0, "pixels of x per unit of rois"},
            {"coordinate_transformation_mode", "half_pixel",
             "half_pixel: shifted by −0.5; output_half_pixel: not shifted, at least 1 × 1 large"}},
       .inputs = {3, 3},
       .infer = infer});
}

}  // namespace softneuro
