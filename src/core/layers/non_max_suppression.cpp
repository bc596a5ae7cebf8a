#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// boxes [B, N, 4] and scores [B, C, N].
Status check_boxes(const DynamicShape& boxes, const DynamicShape& scores) {
  if (boxes.ranked() && boxes[2].known() && boxes[2].value != 4)
    return invalid_model("boxes are {}, must be [batch, boxes, 4]", boxes.str());
  if (boxes.ranked() && scores.ranked() &&
      (!merge_dims(boxes[0], scores[0]) || !merge_dims(boxes[1], scores[2])))
    return invalid_model("scores are {}, must be [batch, classes, boxes] for boxes {}",
                         scores.str(), boxes.str());
  return {};
}

Status infer(InferContext& context) {
  for (const std::size_t i : {0, 1}) {
    SN_RETURN_IF_ERROR(context.expect_type(i, kFloatTypes));
    SN_RETURN_IF_ERROR(context.expect_rank(i, 3));
  }
  SN_RETURN_IF_ERROR(check_boxes(context.shape(0), context.shape(1)));
  if (context.has_input(2)) {
    SN_RETURN_IF_ERROR(context.expect_type(2, kIndexTypes));
    SN_RETURN_IF_ERROR(context.expect_one_element(2, "max_output_boxes_per_class"));
  }
  for (const std::size_t i : {3, 4}) {
    if (!context.has_input(i)) continue;
    SN_RETURN_IF_ERROR(context.expect_type(i, kFloatTypes));
    SN_RETURN_IF_ERROR(context.expect_one_element(i, i == 3 ? "iou_threshold" : "score_threshold"));
  }
  context.set_output(0, DataType::int64, DynamicShape({Dim(), Dim(3)}));
  return {};
}

// Each box is held against those that were kept before it.
double steps(const LayerSizes& sizes) {
  const double elements = sizes.input_elements();
  return elements * elements;
}

}  // namespace

Status register_layer_non_max_suppression(LayerTypes& types) {
  return types.add(
      {.name = "non_max_suppression",
       .doc =
           "Per batch and class, boxes in order of descending score, without those that overlap a "
           "box taken before by more than iou_threshold. Input 0: boxes [B, N, 4]. Input 1: scores "
           "[B, C, N]. Input 2 (optional): max_output_boxes_per_class, int64 scalar; left out: 0. "
           "Input 3 (optional): iou_threshold in [0, 1]; left out: 0. Input 4 (optional): "
           "score_threshold, which a score must exceed. Output 0: int64 [n, 3]: batch, class, box.",
       .params = {{"center_point_box", 0,
                   "a box is 0: [y1, x1, y2, x2], two opposite corners; 1: [x centre, y centre, "
                   "width, height]"}},
       .inputs = {2, 5},
       .data_dependent_output = true,
       .infer = infer,
       .steps = steps});
}

}  // namespace softneuro
