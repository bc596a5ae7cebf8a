// channel_shuffle: what ShuffleNets write as reshape, transpose, reshape. As one layer it exists in
// every layout.
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const std::int64_t groups = context.params().integer("groups");
  if (groups < 1) return invalid_model("groups is {}, must be at least 1", groups);
  if (x.ranked()) {
    if (x.rank() < 2) return invalid_model("input 0 is {}, which has no channels", x.str());
    if (x[1].known() && x[1].value % groups != 0)
      return invalid_model("input 0 has {} channels, not a multiple of {} groups", x[1].value,
                           groups);
  }
  return infer_like_input(context);
}

}  // namespace

Status register_layer_channel_shuffle(LayerTypes& types) {
  return types.add(
      {.name = "channel_shuffle",
       .doc = "The channels as a matrix of `groups` rows, transposed: channel i·(C/groups) + j "
              "goes to j·groups + i. Input 0: x[N,C,…], any type. Output 0: the same shape.",
       .params = {{"groups", 1, "divides the channels", true}},
       .infer = infer});
}

}  // namespace softneuro
