// The inner loops of pooling in float32, one variant per instruction set.
#pragma once

#include "core/window.h"

namespace softneuro {

// Output rows [first, last) of one plane, counted over the two outer spatial axes together.
struct PoolRows {
  const Window* window;
  const float* input;  // one plane
  float* output;       // the whole plane
  std::int64_t first, last;
  bool count_padding;  // mean only
};

struct PoolFunctions {
  void (*max)(const PoolRows&) noexcept;
  void (*mean)(const PoolRows&) noexcept;
};
// The variant for this processor (current_isa()).
const PoolFunctions& pool_functions() noexcept;

}  // namespace softneuro
