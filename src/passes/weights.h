// Layers that multiply by constant weights, and how scales and shifts go into those.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/layer_type.h"
#include "passes/rewriter.h"

namespace softneuro {

// A layer without post-ops whose type has weights (LayerWeights); they and the bias, if there is
// one, are constants of one real data type.
struct WeightedLayer {
  int layer = -1;
  const LayerWeights* type = nullptr;
  int output_axis = 0;       // of the weights, 0 or 1; the other one is that of the inputs
  std::int64_t inputs = 0;   // channels (features) that it reads
  std::int64_t outputs = 0;  // and makes
  bool sums_all = false;     // LayerWeights::sums_all

  // Channel that element `i` of the weights reads, and makes.
  std::int64_t input_of(std::int64_t i) const;
  std::int64_t output_of(std::int64_t i) const;

  std::int64_t rows = 1;     // dimension 0 of the weights: channels of all groups
  std::int64_t columns = 1;  // dimension 1: channels of one group
  std::int64_t groups = 1;
  std::int64_t kernel = 1;  // elements per pair of channels
};
std::optional<WeightedLayer> weighted_layer(const Rewriter& rewriter, int layer);

// scale[c]·x + shift[c] for each channel c.
struct PerChannel {
  std::vector<double> scale;
  std::vector<double> shift;
};

// scale[c]·y + shift[c] per output channel c, as new weights and bias. False, and nothing is
// changed, if a result is not finite in the weights' data type.
Result<bool> fold_after(Rewriter& rewriter, const WeightedLayer& weighted,
                        const PerChannel& affine);
// The same for an input x that was scale[c]·x + shift[c]. Precondition: shift is all 0, or
// weighted.sums_all.
Result<bool> fold_before(Rewriter& rewriter, const WeightedLayer& weighted,
                         const PerChannel& affine);

}  // namespace softneuro
