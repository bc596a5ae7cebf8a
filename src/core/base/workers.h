// Workers: the threads that compute a layer, with cancellation inside a layer.
#pragma once

#include <atomic>
#include <cstdint>

#include "softneuro/status.h"
#include "softneuro/thread_pool.h"

namespace softneuro {

// One run's view of the caller's request to stop. The caller may reset the request during the run;
// once seen, it stays in force for this run: a layer that left out work never counts as computed.
class Cancellation {
 public:
  // `request` may be nullptr: the run is never cancelled.
  explicit Cancellation(const std::atomic<bool>* request) noexcept : request_(request) {}
  bool requested() noexcept {
    if (request_ == nullptr || !request_->load(std::memory_order_relaxed)) return seen();
    seen_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool seen() const noexcept { return seen_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* request_;
  std::atomic<bool> seen_ = false;
};

inline Status cancelled() {
  return Status(StatusCode::cancelled, "cancelled by the caller");
}
// For work in steps of its own: nets that are imported or planned.
inline Status check_cancelled(const std::atomic<bool>* request) {
  return request != nullptr && request->load(std::memory_order_relaxed) ? cancelled() : Status();
}

// A pool, and the request to stop that its tasks check (nullptr: none). Passed by value.
class Workers {
 public:
  Workers(ThreadPool& pool, Cancellation* cancellation = nullptr) noexcept  // NOLINT: implicit
      : pool_(&pool), cancellation_(cancellation) {}
  operator ThreadPool&() const noexcept { return *pool_; }  // NOLINT: implicit by intent

  int concurrency() const noexcept { return pool_->concurrency(); }
  // Calls task(context, i) for each i in [0, count), as long as the work is not cancelled.
  SN_INTREE void run(std::int64_t count, ThreadPool::Task task, void* context) const noexcept;
  // True: what is left of the layer need not be computed; its outputs have no meaning then.
  bool cancelled() const noexcept { return cancellation_ != nullptr && cancellation_->requested(); }

 private:
  ThreadPool* pool_;
  Cancellation* cancellation_;
};

}  // namespace softneuro
