// What the passes that look for layer norms and RMS norms share.
#pragma once

#include "passes/pattern.h"

namespace softneuro {

// numerator / sqrt(mean(numerator²) + epsilon), the mean over the axes from `axis` on.
struct Normalized {
  TensorId numerator = kNoTensor;
  int axis = 0;
  double epsilon = 0;
  std::vector<int> layers;  // all but the numerator's
};

// `root` as such a quotient: n / sqrt(v), n · reciprocal(sqrt(v)), n · v^−0.5.
std::optional<Normalized> match_normalized(const Rewriter& rewriter, int root);
// 1 / sqrt(v): the layers that compute `id` and, in `epsilon` and `mean`, v = mean + epsilon.
struct InverseDeviation {
  TensorId mean = kNoTensor;
  double epsilon = 0;
  std::vector<int> layers;
};
std::optional<InverseDeviation> match_inverse_deviation(const Rewriter& rewriter, TensorId id);

// y = norm · scale or norm + bias behind the layer `norm` (layer_norm, rms_norm): takes the other
// operand in as input `input` (1: scale, 2: bias), if it varies along the normalised axes only.
// `op` is mul or add. True if it did.
Result<bool> take_in_operand(Rewriter& rewriter, int norm, std::size_t input, BinaryOp op);

}  // namespace softneuro
