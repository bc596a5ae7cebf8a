#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softneuro {

// Where clock_ns() looks; null: at the machine's clock. Tests set one by which work takes as long
// as they say, whatever else the machine does meanwhile.
using ClockSource = std::int64_t (*)() noexcept;
inline std::atomic<ClockSource> clock_source = nullptr;

// Nanoseconds of a clock that never goes back. Only differences mean anything.
inline std::int64_t clock_ns() noexcept {
  if (const ClockSource source = clock_source.load(std::memory_order_acquire)) return source();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace softneuro
