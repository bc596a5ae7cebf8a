// The inner loops of reduce cpu/direct, per instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "softneuro/shape.h"

namespace softneuro {

enum class Fold : std::uint8_t { sum, abs_sum, square_sum, exp_sum /*Σ exp(x − shift)*/, max, min };

// The elements that go into one result: row-major over `dims`, at Σ index·strides. rank 0: one.
struct FoldRun {
  int rank = 0;
  std::int64_t dims[kMaxRank] = {};
  std::int64_t strides[kMaxRank] = {};
};

struct Folds {
  // One result. Precondition: rank > 0, and the last stride is 1. Vectors are along it.
  float (*along)(Fold fold, const float* x, const FoldRun& run, float shift) noexcept;
  // `columns` results, for the elements of `run` from x, x + 1, …. For exp_sum, y holds the shifts
  // before. Vectors are across the results.
  void (*across)(Fold fold, const float* x, float* y, std::int64_t columns,
                 const FoldRun& run) noexcept;
};
const Folds& folds() noexcept;
const Folds& folds(CpuFeatures features) noexcept;

}  // namespace softneuro
