// The inner loop of batch_norm cpu/direct, per instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "softneuro/types.h"

namespace softneuro {

// y = (x − mean) · factor + bias for dense rows; along a row the coefficients are one each
// (per_column = false), or one for each column.
struct AffineRows {
  DataType type = DataType::float32;  // of x and y; or float16, bfloat16
  const void* x = nullptr;
  void* y = nullptr;  // may be x
  std::int64_t rows = 1, columns = 0;
  const float* mean = nullptr;
  const float* factor = nullptr;
  const float* bias = nullptr;
  bool per_column = false;
};

struct AffineFunctions {
  void (*apply)(const AffineRows& rows) noexcept;
};
const AffineFunctions& affine_functions() noexcept;
const AffineFunctions& affine_functions(CpuFeatures features) noexcept;

}  // namespace softneuro
