// Comparing a result with its reference.
#pragma once

#include <string>

#include "softneuro/tensor.h"

namespace softneuro::test {

// |result − reference| <= absolute + relative · |reference|, for each element of real types; NaN
// equals NaN, and infinities equal themselves. Integers and booleans may differ by `integers`.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double integers = 0;
};

// Empty if the result is as it should be; else what is wrong: type, shape, or the worst element.
std::string difference(const Tensor& result, const Tensor& reference, const Tolerance& tolerance);

// The greatest absolute value (NaN and infinities left out); 0 if there is none.
double largest_magnitude(const Tensor& tensor);

// RMS(actual − expected) / RMS(expected), the measure of TuneOptions::max_error; infinite where the
// shapes differ or a number is NaN.
double relative_error(const Tensor& expected, const Tensor& actual);

}  // namespace softneuro::test
