#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 2));
  SN_RETURN_IF_ERROR(context.expect_rank(1, 1));
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const std::int64_t batch = context.params().integer("batch_axis");
  const std::int64_t time = context.params().integer("time_axis");
  if (!(batch == 0 && time == 1) && !(batch == 1 && time == 0))
    return invalid_model("batch_axis is {} and time_axis {}, must be 0 and 1 or 1 and 0", batch,
                         time);
  const DynamicShape& x = context.shape(0);
  const DynamicShape& lens = context.shape(1);
  if (x.ranked() && lens.ranked() && !merge_dims(x[static_cast<int>(batch)], lens[0]))
    return invalid_model("sequence_lens ({}) must have one entry per index of axis {} of input {}",
                         lens.str(), batch, x.str());
  return infer_like_input(context);
}

}  // namespace

Status register_layer_reverse_sequence(LayerTypes& types) {
  return types.add(
      {.name = "reverse_sequence",
       .doc = "The first sequence_lens[b] steps of each sequence backwards, the others as they "
              "are. Input 0: x, any type, time and batch on its first two axes. Input 1: "
              "sequence_lens, int64 [batch]. Output 0: x's type and shape.",
       .params = {{"batch_axis", 1, "0 or 1"}, {"time_axis", 0, "the other of 0 and 1"}},
       .inputs = {2, 2},
       .infer = infer});
}

}  // namespace softneuro
