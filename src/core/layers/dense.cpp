#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_same_type(1, 0));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  SN_RETURN_IF_ERROR(context.expect_rank(1, 2));
  const bool transpose = context.params().integer("transpose_weights") != 0;
  const DynamicShape& x = context.shape(0);
  const DynamicShape& w = context.shape(1);
  Dim columns;
  if (w.ranked()) {
    columns = w[transpose ? 0 : 1];
    const Dim depth = w[transpose ? 1 : 0];
    if (x.ranked()) {
      const Dim last = x[x.rank() - 1];
      if (last.known() && depth.known() && last.value != depth.value)
        return invalid_model("the last axis of input 0 ({}) has {} elements, the weights {} {}",
                             x.str(), last.value, w.str(), depth.value);
    }
  }
  if (context.has_input(2)) {
    SN_RETURN_IF_ERROR(context.expect_rank(2, 1));
    SN_RETURN_IF_ERROR(context.expect_same_type(2, 0));
    if (context.shape(2).ranked()) {
      const Dim bias = context.shape(2)[0];
      if (bias.known() && columns.known() && bias.value != columns.value)
        return invalid_model("the bias has {} elements, the weights {} columns", bias.value,
                             columns.value);
      if (!columns.known()) columns = bias;
    }
  }
  DynamicShape y;
  if (x.ranked()) {
    y = x;
    y[y.rank() - 1] = columns;
  }
  return context.set_shape(std::move(y));
}

bool is_transposed(const Params& params) {
  return params.integer("transpose_weights") != 0;
}

double macs(const LayerSizes& sizes) {
  const Shape& w = *sizes.inputs[1];
  return LayerSizes::elements(sizes.outputs[0]) *
         static_cast<double>(w[is_transposed(sizes.params) ? 1 : 0]);
}

LayerWeights weights_info() {
  LayerWeights weights;
  weights.output_axis = [](const Params& params) { return is_transposed(params) ? 0 : 1; };
  weights.sums_all = [](const Params&) { return true; };
  weights.channel_axis = -1;
  return weights;
}

}  // namespace

Status register_layer_dense(LayerTypes& types) {
  return types.add(
      {.name = "dense",
       .doc = "y = x · w + bias along the last axis of x. Inputs: x[…,K] of rank >= 1, w[K,N] "
              "([N,K] with transpose_weights), bias[N] (optional). Output: y[…,N].",
       .category = LayerCategory::product,
       .params = {{"transpose_weights", 0, "1: the weights are [N,K]"}},
       .inputs = {2, 3},
       .cancellable = true,
       .fused_post_ops = FusedPostOps::all,
       .weights = weights_info(),
       .infer = infer,
       .macs = macs});
}

}  // namespace softneuro
