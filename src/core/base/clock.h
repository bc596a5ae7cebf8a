#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softneuro {

// Nanoseconds of the machine's steady clock. Only differences mean anything.
inline std::int64_t machine_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What clock_ns() reads; null: machine_ns(). Tests and benchmarks set one by which work takes as
// long as they say.
using ClockSource = std::int64_t (*)() noexcept;
inline std::atomic<ClockSource> clock_source = nullptr;

// Nanoseconds of the clock by which everything is measured. Only differences mean anything.
inline std::int64_t clock_ns() noexcept {
  const ClockSource source = clock_source.load(std::memory_order_acquire);
  return source == nullptr ? machine_ns() : source();
}

}  // namespace softneuro
