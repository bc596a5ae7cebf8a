// Layers that multiply by constant weights, and how scales and shifts go into those.
#pragma once

#include <optional>
#include <vector>

#include "passes/rewriter.h"

namespace softneuro {

// A conv, conv_transpose or dense layer without post-ops whose weights (input 1) and bias (input 2,
// if any) are constants of one real data type.
struct WeightedLayer {
  enum class Kind { conv, conv_transpose, dense };
  int layer = -1;
  Kind kind = Kind::conv;
  std::int64_t inputs = 0;   // channels (features) that it reads
  std::int64_t outputs = 0;  // and makes
  std::int64_t groups = 1;
  std::int64_t kernel = 1;  // elements per pair of channels
  bool transposed = false;  // dense: weights are [N,K]

  // Channel that element `i` of the weights reads, and makes.
  std::int64_t input_of(std::int64_t i) const;
  std::int64_t output_of(std::int64_t i) const;
};
std::optional<WeightedLayer> weighted_layer(const Rewriter& rewriter, int layer);
// The axis of its channels in the output of the given rank: 1, or the last for dense.
int channel_axis(const WeightedLayer& weighted, int rank);

// scale[c]·y + shift[c] per output channel c, as new weights and bias. False, and nothing is
// changed, if a result is not finite in the weights' data type.
Result<bool> fold_after(Rewriter& rewriter, const WeightedLayer& weighted,
                        const std::vector<double>& scale, const std::vector<double>& shift);
// The same for an input x that was scale[c]·x + shift[c]. Precondition: shift is all 0, or every
// weight meets an input element (no padding, and not a conv_transpose).
Result<bool> fold_before(Rewriter& rewriter, const WeightedLayer& weighted,
                         const std::vector<double>& scale, const std::vector<double>& shift);

}  // namespace softneuro
