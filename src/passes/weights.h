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
  std::vector<double> unit;  // about how large the results are; empty: 1 everywhere
};

// What a layer does to its input `x`, whose `channels` lie along `axis`, to give a tensor of the
// same shape; nothing if it does anything else.
using AffineOf = std::optional<PerChannel> (*)(const Rewriter& rewriter, int layer, TensorId x,
                                               std::int64_t channels, int axis);

// Both are exact up to rounding that the layer has anyway: each weight is rounded once more, which
// loses no more than to round a product of the sum. False, and nothing is changed, if `affine_of`
// says nothing of the layer beside `weighted`, or if more were lost: weights out of the type's
// normal range, unless they are small beside their channel's others, or so large that sums might
// overflow that are not close to the end of the range; weights that are whole numbers and no longer
// would be, since such layers may not round at all.

// Takes in the layer behind `weighted`: (scale·w)·x + (scale·b + shift).
Result<bool> fold_next(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of);
// The same for the layer before it: (w·scale)·x + (b + Σ w·shift). With padding only if no channel
// is shifted: the shift of a padded zero is not zero. Not if the shift is large beside what it
// gives, (x − 10⁵) / 3: w·x and w·shift would cancel.
Result<bool> fold_previous(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of);

}  // namespace softneuro
