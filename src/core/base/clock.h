#pragma once

#include <chrono>
#include <cstdint>

namespace softneuro {

// Nanoseconds of a clock that never goes back. Only differences mean anything.
inline std::int64_t clock_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace softneuro
