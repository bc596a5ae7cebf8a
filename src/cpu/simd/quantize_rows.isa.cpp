#include "cpu/simd/quantize_rows.h"

#include "cpu/simd/vector_element.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

template <class T>
SN_INLINE NarrowV<T> quantize_vector(FloatV x, FloatV scale, IntV zero_point) {
  const FloatV v = x / scale;
  const FloatV zero = -__builtin_convertvector(zero_point, FloatV);  // what becomes the number 0
  return levels<T>(select(is_nan(v), zero, v), zero_point);
}

template <class T, bool per_element>
void quantize_loop(const float* x, T* y, const ScaledRow& row) noexcept {
  FloatV scale = splat(row.scales[0]);
  IntV zero_point = splat(row.zero_points[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= row.count; i += kLanes) {
    if constexpr (per_element) {
      scale = load(row.scales + i);
      zero_point = load_int(row.zero_points + i);
    }
    const NarrowV<T> q = quantize_vector<T>(load(x + i), scale, zero_point);
    __builtin_memcpy(y + i, &q, sizeof q);
  }
  for (; i < row.count; ++i) {  // the same vector code for each of the rest
    const std::int64_t s = per_element ? i : 0;
    y[i] = quantize_vector<T>(splat(x[i]), splat(row.scales[s]), splat(row.zero_points[s]))[0];
  }
}

template <class T>
void quantize(const float* x, void* y, const ScaledRow& row) noexcept {
  if (row.per_element)
    quantize_loop<T, true>(x, static_cast<T*>(y), row);
  else
    quantize_loop<T, false>(x, static_cast<T*>(y), row);
}

template <class T>
void dequantize(const void* source, float* y, const ScaledRow& row) noexcept {
  const T* x = static_cast<const T*>(source);
  FloatV scale = splat(row.scales[0]);
  IntV zero_point = splat(row.zero_points[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= row.count; i += kLanes) {
    if (row.per_element) {
      scale = load(row.scales + i);
      zero_point = load_int(row.zero_points + i);
    }
    NarrowV<T> q;
    __builtin_memcpy(&q, x + i, sizeof q);
    const IntV number = __builtin_convertvector(q, IntV) - zero_point;
    store(y + i, __builtin_convertvector(number, FloatV) * scale);
  }
  for (; i < row.count; ++i) {
    const std::int64_t s = row.per_element ? i : 0;
    const IntV number = splat(static_cast<std::int32_t>(x[i])) - splat(row.zero_points[s]);
    y[i] = __builtin_convertvector(number, FloatV)[0] * row.scales[s];
  }
}

void quantize_any(DataType type, const float* x, void* y, const ScaledRow& row) noexcept {
  switch (type) {
    case DataType::int8:
      return quantize<std::int8_t>(x, y, row);
    case DataType::uint8:
      return quantize<std::uint8_t>(x, y, row);
    case DataType::int16:
      return quantize<std::int16_t>(x, y, row);
    default:
      return quantize<std::uint16_t>(x, y, row);
  }
}

void dequantize_any(DataType type, const void* x, float* y, const ScaledRow& row) noexcept {
  switch (type) {
    case DataType::int8:
      return dequantize<std::int8_t>(x, y, row);
    case DataType::uint8:
      return dequantize<std::uint8_t>(x, y, row);
    case DataType::int16:
      return dequantize<std::int16_t>(x, y, row);
    case DataType::uint16:
      return dequantize<std::uint16_t>(x, y, row);
    default:
      return dequantize<std::int32_t>(x, y, row);
  }
}

void range(const float* x, std::int64_t count, float* low, float* high) noexcept {
  FloatV lows = {}, highs = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    lows = min(load(x + i), lows);  // NaN: the second operand
    highs = max(load(x + i), highs);
  }
  if (i < count) {
    lows = min(load_first(x + i, count - i), lows);
    highs = max(load_first(x + i, count - i), highs);
  }
  *high = max_of_lanes(highs);
  *low = -max_of_lanes(-lows);
}

}  // namespace

extern const QuantizeRows kQuantizeRows;
const QuantizeRows kQuantizeRows = {quantize_any, dequantize_any, range};

}  // namespace softneuro::SN_ISA_NAMESPACE
