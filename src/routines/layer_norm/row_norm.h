// Mean, variance and normalisation of rows of float32, one variant per instruction set. Sums are
// in double, so that a mean far from zero does not cost the variance its digits.
#pragma once

#include <cstdint>

namespace softneuro {

struct RowMoments {
  double mean, variance;  // of the population
};

struct RowNorm {
  // Two passes. count >= 1.
  RowMoments (*moments)(const float* x, std::int64_t count) noexcept;
  // Mean of squares.
  double (*mean_square)(const float* x, std::int64_t count) noexcept;
  // y[i] = (x[i] − mean) · factor · scale[i] + bias[i]; scale and bias may be null. y may be x.
  void (*normalize)(const float* x, double mean, double factor, const float* scale,
                    const float* bias, float* y, std::int64_t count) noexcept;
};

// The variant for this processor (current_isa()).
const RowNorm& row_norm() noexcept;

}  // namespace softneuro
