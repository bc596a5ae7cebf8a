// How far two tensors differ, and whether by more than rounding explains. Tensors are plain.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/routine/precision.h"
#include "softneuro/export.h"
#include "softneuro/tensor.h"

namespace softneuro {

// Largest relative RMS of a difference from float32 that arithmetic of this precision explains.
SN_INTREE double tolerance_of(const Precision& precision);

struct RealRange {
  double low = -INFINITY, high = INFINITY;
};
// A result in another order of sums may be farther from the model's than either is from exact.
inline constexpr double kFloatNoise = 8;
// Sums in another order end on the other side of a tie now and then, and rarely.
inline constexpr double kMovedShare = 0.02;

// What 8 bits can say. Precondition: per tensor.
RealRange range_of(const Quantization& quantization);

// What a tensor may differ by.
struct Tolerance {
  double relative = 0;  // RMS of the difference over that of the expected values
  double absolute = 0;  // RMS
  // Of the levels that the actual values are rounded to; 0: none.
  double step = 0;
  // The expected values are of these levels, too: hardly any may lie on another one.
  bool on_levels = false;
  // The rounding hits large and small values alike, so that it cannot shrink or stretch the tensor.
  bool unbiased = false;
};

// Sums over the elements of two tensors.
struct SN_INTREE Comparison {
  double square = 0;      // Σ expected²
  double difference = 0;  // Σ (actual − expected)²
  double product = 0;     // Σ actual · expected
  double scatter = 0;     // Σ (actual − expected)² · expected²: of `product`, about its mean
  double count = 0;
  double moved = 0;     // elements that lie more than half a step off
  double largest = 0;   // |actual − expected|
  bool broken = false;  // NaN or infinite where the other one is not so

  double error() const;     // RMS
  double relative() const;  // RMS of the difference over that of the expected values
};

// Of tensors of one shape; expected values count as held within `range`.
SN_INTREE Comparison compare_tensors(const Tensor& expected, const Tensor& actual, double step,
                                     const RealRange& range = {});

// Why the difference is beyond the tolerance, in one phrase; empty if it is not. Tensors of
// integers and booleans must be equal. Precondition: one data type and shape.
SN_INTREE std::string mismatch(const Tensor& expected, const Tensor& actual,
                               const Tolerance& tolerance);

// One type and shape, and the same bytes.
bool same_bits(const Tensor& a, const Tensor& b);
// No number of the tensor is infinite or NaN.
bool is_finite(const Tensor& tensor);

struct UnitDifference {
  std::int64_t count = 0;   // of elements that are farther apart
  std::int64_t first = -1;  // of these
};

// Elements of `actual` that are more than `units` units in the last place away from `expected`, and
// more than `cancelled_units` of the largest element, since sums cancel. Elements that are infinite
// or NaN in `expected` are passed over. Both are of one floating-point type and shape.
UnitDifference unit_difference(const Tensor& expected, const Tensor& actual, double units,
                               double cancelled_units);

}  // namespace softneuro
