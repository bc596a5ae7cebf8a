// Mean, variance and normalisation of rows of float32, one variant per instruction set. Sums are
// in double, so that a mean far from zero does not cost the variance its digits.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"

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

// The best variant for this processor, or for one with these features.
const RowNorm& row_norm() noexcept;
const RowNorm& row_norm(CpuFeatures features) noexcept;

}  // namespace softneuro
