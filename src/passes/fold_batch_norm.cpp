// fold_batch_norm: a batch norm beside a layer with constant weights goes into them.
//
// Behind conv, conv_transpose, dense…:  scale·(w·x + b) + shift = (scale·w)·x + (scale·b + shift)
// Before conv, dense…, without padding (the norm of a padded zero is not zero):
//   w·(scale·x + shift) + b = (w·scale)·x + (b + Σ w·shift)
// with scale = gamma / sqrt(var + ε), shift = beta − mean·scale per channel.
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/weights.h"

namespace softneuro {
namespace {

// What a batch norm does to each of `channels` channels; nothing if it is not constant.
std::optional<PerChannel> channels_of(const Rewriter& rewriter, int norm, std::int64_t channels) {
  const Layer& layer = rewriter.layer(norm);
  std::vector<double> values[4];  // scale, bias, mean, var
  for (std::size_t i = 0; i < 4; ++i) {
    auto read = vector_of(rewriter.graph(), layer.inputs[i + 1], channels);
    if (!read) return std::nullopt;
    values[i] = *std::move(read);
  }
  PerChannel result;
  for (std::size_t c = 0; c < values[0].size(); ++c) {
    const double deviation = std::sqrt(values[3][c] + layer.params.real("epsilon", 1e-5));
    const double scale = values[0][c] / deviation;
    if (!std::isfinite(scale) || !(deviation > 0)) return std::nullopt;
    result.scale.push_back(scale);
    result.shift.push_back(values[1][c] - values[2][c] * scale);
  }
  return result;
}

Result<bool> fold_into_producer(Rewriter& rewriter, int norm) {
  const TensorId x = rewriter.layer(norm).inputs[0];
  const DynamicShape& shape = rewriter.tensor(x).shape;
  const auto weighted = weighted_layer(rewriter, rewriter.producer(x));
  // The norm's channels are those of axis 1.
  if (!weighted || !rewriter.has_single_use(x) || !shape.ranked() || shape.rank() < 2 ||
      weighted->type->channel_axis_of(shape.rank()) != 1)
    return false;
  const auto channels = channels_of(rewriter, norm, weighted->outputs);
  if (!channels) return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_after(rewriter, *weighted, *channels));
  if (folded) rewriter.absorb(weighted->layer, norm);
  return folded;
}

Result<bool> fold_into_consumer(Rewriter& rewriter, int norm) {
  const TensorId y = rewriter.layer(norm).outputs[0];
  const DynamicShape& shape = rewriter.tensor(y).shape;
  if (!rewriter.layer(norm).post_ops.empty() || !rewriter.has_single_use(y) || !shape.ranked() ||
      shape.rank() < 2)
    return false;
  const auto weighted = weighted_layer(rewriter, rewriter.consumers(y)[0]);
  if (!weighted || rewriter.layer(weighted->layer).inputs[0] != y) return false;
  if (!weighted->sums_all || weighted->type->channel_axis_of(shape.rank()) != 1) return false;
  const auto channels = channels_of(rewriter, norm, weighted->inputs);
  if (!channels) return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_before(rewriter, *weighted, *channels));
  if (!folded) return false;
  const TensorId x = rewriter.layer(norm).inputs[0];
  rewriter.add_sources(weighted->layer, norm);
  rewriter.remove(norm);
  rewriter.set_input(weighted->layer, 0, x);
  return true;
}

}  // namespace

Status fold_batch_norm(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || rewriter.layer(i).type->name != "batch_norm") continue;
    SN_ASSIGN_OR_RETURN(bool folded, fold_into_producer(rewriter, i));
    if (!folded) {
      SN_ASSIGN_OR_RETURN(folded, fold_into_consumer(rewriter, i));
    }
    if (folded) rewriter.count_change();
  }
  return rewriter.finish();
}

}  // namespace softneuro
