// Reading and writing single elements of any data type: for naive routines and borders.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/tensor_view.h"
#include "softneuro/types.h"

namespace softneuro {

// Calls f(T{}) with the C++ type of `type` and returns what it returns; `otherwise` if the type
// has no C++ counterpart here (undefined, qint8).
template <class R, class F>
R dispatch(DataType type, R otherwise, F&& f) {
  switch (type) {
    case DataType::float32:
      return f(float{});
    case DataType::float64:
      return f(double{});
    case DataType::float16:
      return f(Half{});
    case DataType::bfloat16:
      return f(BFloat16{});
    case DataType::int8:
      return f(std::int8_t{});
    case DataType::uint8:
      return f(std::uint8_t{});
    case DataType::int16:
      return f(std::int16_t{});
    case DataType::uint16:
      return f(std::uint16_t{});
    case DataType::int32:
      return f(std::int32_t{});
    case DataType::uint32:
      return f(std::uint32_t{});
    case DataType::int64:
      return f(std::int64_t{});
    case DataType::uint64:
      return f(std::uint64_t{});
    case DataType::boolean:
      return f(bool{});
    default:
      return otherwise;
  }
}

// The number that an element stands for. Arithmetic of naive routines is done in double.
template <class T>
double to_double(T value) noexcept {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return to_float(value);
  else
    return static_cast<double>(value);
}
// `value` as the float that rounds to the same 16-bit number: where double → float is not exact,
// the neighbour with an odd last bit, so that rounding twice does as well as rounding once.
inline float round_to_odd(double value) noexcept {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  std::uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  if ((bits & 1u) == 0)
    bits += std::fabs(static_cast<double>(nearest)) > std::fabs(value) ? ~0u : 1u;
  float odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}
// Rounds to T: floats to nearest even, integers truncate towards zero and saturate (NaN → 0).
template <class T>
T from_double(double value) noexcept {
  if constexpr (std::is_same_v<T, Half>)
    return to_half(round_to_odd(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(round_to_odd(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else {
    if (std::isnan(value)) return T{0};
    if (value <= static_cast<double>(std::numeric_limits<T>::lowest()))
      return std::numeric_limits<T>::lowest();
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  }
}

// Element `index` of `view` (plain layout) as double. Slow and simple: one switch per element,
// which keeps naive routines small; fast routines are templates over the type instead.
inline double load(const TensorView& view, std::int64_t index) noexcept {
  return dispatch(view.type, 0.0,
                  [&](auto tag) { return to_double(view.as<decltype(tag)>()[index]); });
}
inline void store(const TensorView& view, std::int64_t index, double value) noexcept {
  dispatch(view.type, 0, [&](auto tag) {
    using T = decltype(tag);
    view.as_mutable<T>()[index] = from_double<T>(value);
    return 0;
  });
}
// As above for integer and boolean types, exact over all of int64 (uint64 keeps its bits).
inline std::int64_t load_integer(const TensorView& view, std::int64_t index) noexcept {
  return dispatch(view.type, std::int64_t{0}, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(view.as<T>()[index]);
    else
      return static_cast<std::int64_t>(to_double(view.as<T>()[index]));
  });
}
inline void store_integer(const TensorView& view, std::int64_t index, std::int64_t value) noexcept {
  dispatch(view.type, 0, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      view.as_mutable<T>()[index] = static_cast<T>(value);
    else
      view.as_mutable<T>()[index] = from_double<T>(static_cast<double>(value));
    return 0;
  });
}

// The above for routines that are written once for sums in double (real types) and in int64
// (integer types, exact, wrapping).
template <class Sum>
Sum load_as(const TensorView& view, std::int64_t index) noexcept {
  if constexpr (std::is_integral_v<Sum>)
    return load_integer(view, index);
  else
    return load(view, index);
}
template <class Sum>
void store_as(const TensorView& view, std::int64_t index, Sum value) noexcept {
  if constexpr (std::is_integral_v<Sum>)
    store_integer(view, index, value);
  else
    store(view, index, value);
}
// a + b · c; integers wrap.
template <class Sum>
Sum multiply_add(Sum a, Sum b, Sum c) noexcept {
  if constexpr (std::is_integral_v<Sum>)
    return static_cast<Sum>(static_cast<std::uint64_t>(a) +
                            static_cast<std::uint64_t>(b) * static_cast<std::uint64_t>(c));
  else
    return a + b * c;
}

// Row-major strides, in elements.
inline Shape strides_of(const Shape& shape) noexcept {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}
// Strides with which a tensor of `shape` is read while walking over `target` (0 where it is
// broadcast). Precondition: `shape` broadcasts to `target`.
inline Shape broadcast_strides(const Shape& shape, const Shape& target) noexcept {
  Shape strides = target;
  const Shape shape_strides = strides_of(shape);
  const int shift = target.rank() - shape.rank();
  for (int i = 0; i < target.rank(); ++i)
    strides[i] = i < shift || shape[i - shift] == 1 ? 0 : shape_strides[i - shift];
  return strides;
}
// Advances a row-major multi-index; false after the last.
inline bool next_index(Shape& index, const Shape& shape) noexcept {
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (++index[i] < shape[i]) return true;
    index[i] = 0;
  }
  return false;
}
inline std::int64_t offset_of(const Shape& index, const Shape& strides) noexcept {
  std::int64_t offset = 0;
  for (int i = 0; i < index.rank(); ++i) offset += index[i] * strides[i];
  return offset;
}

}  // namespace softneuro
