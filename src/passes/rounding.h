// What a data type holds of a number: how passes tell an exact change from one that rounds.
#pragma once

#include "core/base/element.h"

namespace softneuro {

// A number's rounding to a float type loses at most this part of it, if the result is normal.
double unit_roundoff(DataType type);
// The number as a tensor of this float type holds it.
double rounded(double value, DataType type);
// A number that a tensor of this float type holds as it is, neither subnormal, infinite nor NaN.
bool is_exact(double value, DataType type);
// ±2^k: multiplying by it rounds nothing, but for results below the normal range.
bool is_power_of_two(double value);

// x' = scale·x + shift, of about the size `unit`, becomes a sum of scale·x, which is as large as
// the shift, and of the shift: they cancel, and as many digits are lost as the shift is larger than
// the unit. Up to this many times it is little beside what a sum of many terms, or the layer that
// makes x, loses anyway. The usual normalisation of pixels shifts by 2.1 units, of grey ones by 1.
inline constexpr double kMostUnitsOfShift = 4;

}  // namespace softneuro
