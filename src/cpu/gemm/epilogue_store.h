// The part of an epilogue that is done while float32 sums are in registers.
#pragma once

#include <cstdint>

#include "softneuro/types.h"

namespace softneuro {

// T: of the results, Half, BFloat16 or float. It has many fields because one call of an inner loop
// reads them all.
template <class T>
struct EpilogueStore {
  const float* sums = nullptr;
  std::int64_t sums_stride = 0;
  int rows = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;  // null: none
  const T* addend = nullptr;    // null, or placed as y; may be y
  bool clamp = false;           // to [low, high]; NaN stays
  float low = 0, high = 0;
  T* y = nullptr;
  std::int64_t y_stride = 0;
  // Given: results are stored here, unrounded, not to y. May be the sums.
  float* floats = nullptr;
  std::int64_t floats_stride = 0;
};
template <class T>
using EpilogueStoreFunction = void (*)(const EpilogueStore<T>&) noexcept;

// In files of one instruction set.
namespace avx512 {
void epilogue_store_half(const EpilogueStore<Half>& store) noexcept;
void epilogue_store_float(const EpilogueStore<float>& store) noexcept;
}  // namespace avx512
namespace avx512bf16 {
void epilogue_store_bfloat(const EpilogueStore<BFloat16>& store) noexcept;
}

}  // namespace softneuro
