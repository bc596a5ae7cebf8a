// Adding many floats: for *.isa.cpp files only.
#pragma once

#include "cpu/simd/vector.h"

namespace softneuro::SN_ISA_NAMESPACE {

// Adds in blocks, so that the error grows with the number of blocks and the length of one instead
// of with their product. The order depends on the addends' number only.
struct BlockSum {
  static constexpr std::int64_t kBlock = 64;
  FloatV total = {}, part = {};
  std::int64_t addends = 0;

  SN_INLINE void add(FloatV v) {
    part += v;
    if (++addends % kBlock != 0) return;
    total += part;
    part = FloatV{};
  }
  SN_INLINE FloatV result() const { return total + part; }
};

}  // namespace softneuro::SN_ISA_NAMESPACE
