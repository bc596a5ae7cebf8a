// How far two tensors differ, and whether by more than rounding explains.
#pragma once

#include <cmath>
#include <string>

#include "softneuro/export.h"
#include "softneuro/tensor.h"

namespace softneuro {

// Largest relative RMS of a difference from float32 that arithmetic of this type explains.
SN_INTREE double tolerance_of(DataType type);

struct RealRange {
  double low = -INFINITY, high = INFINITY;
};
// What 8 bits can say. Precondition: per tensor.
RealRange range_of(const Quantization& quantization);

// What explains a difference.
struct Explained {
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

// Of plain tensors of one shape; expected values count as held within `range`.
SN_INTREE Comparison compare_tensors(const Tensor& expected, const Tensor& actual, double step,
                                     const RealRange& range = {});

// Why the difference is not explained, in one phrase; empty if it is. Tensors of integers and
// booleans must be equal. Precondition: both plain and of one data type and shape.
SN_INTREE std::string departure(const Tensor& expected, const Tensor& actual,
                                const Explained& explained);

}  // namespace softneuro
