// A clock that a test sets: work takes as long as it says, whatever else the machine does.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace softneuro::test {

// Is clock_ns() of this process for as long as it lives; one at a time.
class SettableClock {
 public:
  SettableClock() { clock_source = look; }
  ~SettableClock() { clock_source = nullptr; }
  SettableClock(const SettableClock&) = delete;
  SettableClock& operator=(const SettableClock&) = delete;

  // Any thread may call it.
  static void pass_us(double us) { now_ns_ += static_cast<std::int64_t>(us * 1e3); }

 private:
  // A look takes time as well, so that whoever waits for a time comes there.
  static std::int64_t look() noexcept {
    constexpr std::int64_t kLookNs = 20;
    return now_ns_ += kLookNs;
  }
  static inline std::atomic<std::int64_t> now_ns_ = 0;
};

}  // namespace softneuro::test
