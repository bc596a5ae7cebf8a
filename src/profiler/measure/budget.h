// How long a tuning may take.
#pragma once

#include <atomic>
#include <chrono>

#include "softneuro/status.h"

namespace softneuro {

// cancelled once `cancel`, which may be null, is true (TuneOptions::cancel).
inline Status check_cancel(const std::atomic<bool>* cancel) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
    return Status(StatusCode::cancelled, "tuning was cancelled");
  return {};
}

// Shared by the stages of a tuning.
struct TuneBudget {
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;
  bool expired() const { return std::chrono::steady_clock::now() >= end; }
};

}  // namespace softneuro
