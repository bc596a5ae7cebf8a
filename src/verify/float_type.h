// Floating-point types as sets of numbers.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "softneuro/tensor.h"

namespace softneuro {

struct FloatType {
  int digits = 24;    // of the mantissa, the leading one included
  int lowest = -126;  // exponent of the smallest normal number
  double largest = 0x1.fffffep127;

  double smallest_normal() const { return std::ldexp(1.0, lowest); }
  double ulp(double value) const {
    if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, lowest - digits + 1);
    return std::ldexp(1.0, std::max(std::ilogb(value), lowest) - digits + 1);
  }
  // The least number that rounds to infinity.
  double end() const { return largest + ulp(largest) / 2; }
};

// float32 for types that are none.
inline FloatType float_type_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {11, -14, 65504};
    case DataType::bfloat16:
      return {8, -126, 0x1.fep127};
    case DataType::float64:
      return {53, -1022, 0x1.fffffffffffffp1023};
    default:
      return {};
  }
}

inline bool is_of_16_bits(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

// A plain tensor of floats in another type; others as they are.
inline Result<Tensor> in_float_type(const Tensor& tensor, DataType to, Allocator& allocator) {
  if (tensor.empty() || !is_float(tensor.data_type()) || tensor.data_type() == to) return tensor;
  SN_ASSIGN_OR_RETURN(Tensor made, Tensor::create(to, tensor.shape(), allocator));
  const TensorView from = view_of(tensor), into = view_of(made);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) store(into, i, load(from, i));
  return made;
}

}  // namespace softneuro
