// Quantising and dequantising rows of numbers, per instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "softneuro/types.h"

namespace softneuro {

// `count` contiguous elements, with one scale and zero point for all of them, or one
// for each.
struct ScaledRow {
  const float* scales = nullptr;
  const std::int32_t* zero_points = nullptr;
  bool per_element = false;
  std::int64_t count = 0;
};

struct QuantizeRows {
  // y = saturate(round(x / scale) + zero_point); NaN gives 0. `type`: int8, uint8, int16, uint16.
  void (*quantize)(DataType type, const float* x, void* y, const ScaledRow& row) noexcept;
  // y = (x − zero_point) · scale. `type`: as above, or int32.
  void (*dequantize)(DataType type, const void* x, float* y, const ScaledRow& row) noexcept;
  // The range of the numbers and 0; NaN is left out.
  void (*range)(const float* x, std::int64_t count, float* low, float* high) noexcept;
};
const QuantizeRows& quantize_rows() noexcept;
const QuantizeRows& quantize_rows(CpuFeatures features) noexcept;

}  // namespace softneuro
