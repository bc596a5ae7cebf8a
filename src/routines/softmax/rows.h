// The inner loops of softmax cpu/direct, per instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"

namespace softneuro {

struct SoftmaxRows {
  // One row of `count` > 0 contiguous elements; y may be x.
  void (*row)(const float* x, float* y, std::int64_t count, bool log) noexcept;
  // `columns` independent rows side by side: element k of column c is x[k·stride + c].
  void (*columns)(const float* x, float* y, std::int64_t count, std::int64_t stride,
                  std::int64_t columns, bool log) noexcept;
};
const SoftmaxRows& softmax_rows() noexcept;
const SoftmaxRows& softmax_rows(CpuFeatures features) noexcept;

}  // namespace softneuro
