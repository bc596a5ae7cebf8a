// fold_batch_norm: a batch norm beside a layer with constant weights goes into them, behind conv,
// conv_transpose, dense…, and before conv, dense… without padding. Per channel it is scale·x +
// shift with scale = gamma / sqrt(var + ε), shift = beta − mean·scale. What may be lost: weights.h;
// what the norm gives is about as large as gamma and beta.
#include <cmath>

#include "passes/constants.h"
#include "passes/weights.h"

namespace softneuro {
namespace {

std::optional<PerChannel> affine_of_norm(const Rewriter& rewriter, int norm, TensorId x,
                                         std::int64_t channels, int axis) {
  const Layer& layer = rewriter.layer(norm);
  // The norm's channels are those of axis 1.
  if (layer.type->name != "batch_norm" || layer.inputs[0] != x || axis != 1 ||
      rewriter.tensor(x).shape.rank() < 2)
    return std::nullopt;
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
    result.unit.push_back(std::fabs(values[0][c]) + std::fabs(values[1][c]));
  }
  return result;
}

}  // namespace

Status fold_batch_norm(Rewriter& rewriter, int i) {
  auto weighted = weighted_layer(rewriter, i);
  if (weighted && weighted->sums_all)
    SN_RETURN_IF_ERROR(fold_previous(rewriter, *weighted, affine_of_norm).status());
  for (bool folded = true; folded && (weighted = weighted_layer(rewriter, i));) {
    SN_ASSIGN_OR_RETURN(folded, fold_next(rewriter, *weighted, affine_of_norm));
  }
  return {};
}

}  // namespace softneuro
