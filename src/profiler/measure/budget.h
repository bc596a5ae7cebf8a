// How long a tuning may take.
#pragma once

#include <atomic>
#include <chrono>

namespace softneuro {

// Shared by the stages of a tuning.
struct TuneBudget {
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;
  bool expired() const { return std::chrono::steady_clock::now() >= end; }
};

}  // namespace softneuro
