// The inner loops of resize cpu/direct: weighted sums of runs, per instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "softneuro/types.h"

namespace softneuro {

// `count` runs of `length` elements that begin `offsets` elements behind `data`, and their weights.
struct WeightedRuns {
  const void* data = nullptr;
  const std::int64_t* offsets = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 1;
  std::int64_t length = 0;
  float scale = 1, shift = 0;   // put to the sums
  std::int32_t zero_point = 0;  // of what is written, added to the rounded numbers
};

// The taps of a row of outputs, each a single element: tap k of output i is at k · outputs + i.
struct PickedTaps {
  const float* data = nullptr;
  const std::int32_t* offsets = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 1;  // for each output
  std::int64_t outputs = 0;
  float scale = 1, shift = 0;  // put to the sums
  std::int32_t zero_point = 0;
};

struct ResizeMix {
  // to[i] = scale · Σ weight · run[i] + shift. Types: float32, float16, bfloat16, int8, uint8 (the
  // bytes as numbers; rounded to nearest even, plus the zero point, saturated).
  void (*mix)(DataType from, const WeightedRuns& runs, DataType to_type, void* to) noexcept;
  // to[i] = scale · Σ weight · element + shift.
  void (*pick)(const PickedTaps& taps, DataType to_type, void* to) noexcept;
};
const ResizeMix& resize_mix() noexcept;
const ResizeMix& resize_mix(CpuFeatures features) noexcept;

}  // namespace softneuro
