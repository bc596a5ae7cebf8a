// A barrier across the pool's threads, so that measurements begin and end with all of them running.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/unyielding_wait.h"
#include "profiler/measure/constants.h"
#include "softneuro/thread_pool.h"

namespace softneuro {

// A preempted worker slows dozens of consecutive samples alike; here it shows as a late arrival and
// the sample is discarded. When it arrives it has a fresh time slice.
class PoolBarrier {
 public:
  explicit PoolBarrier(ThreadPool& pool) noexcept;
  ~PoolBarrier();
  PoolBarrier(const PoolBarrier&) = delete;
  PoolBarrier& operator=(const PoolBarrier&) = delete;

  // Pins each of the pool's threads, this one included, to a processor of its own while this object
  // lives: on a loaded machine the operating system may put two of them on one processor, where
  // they never run at once. Threads that already run on different processors stay there. Without
  // effect where there are fewer processors than threads, or no thread affinity.
  void pin_threads();

  // Waits until all threads of the pool run at the same time, for 20 ms at most. Call it within a
  // burst of the pool. Returns whether they arrived at once, as they do on a quiet machine. Always
  // true, without waiting, where there are fewer processors than threads, also from when on others
  // are taken away from this process, or threads never arrive.
  bool synchronize() noexcept;

  // How often synchronize() was called, and how often a thread arrived late.
  std::int64_t calls() const noexcept { return calls_; }
  std::int64_t late_arrivals() const noexcept { return late_arrivals_; }
  // The share of the time since this object was made, of kLeastNs at least, that was spent waiting
  // for late threads, which other processes had preempted. Late arrivals are few, since nothing is
  // measured meanwhile.
  double waited() const noexcept;
  // Synchronises for kLeastNs, in which a thread that competes for its processor is preempted. Call
  // it within a burst of the pool.
  void observe() noexcept;
  // Whether that share is large, or threads that had arrived before no longer do.
  bool disturbed() const noexcept { return lost_ || waited() > constants::kDisturbed; }

 private:
  struct ThreadPlace;
  struct State;
  static void arrive(void* context, std::size_t index) noexcept;
  bool wait_for_all(std::vector<ThreadPlace>* places) noexcept;
  int usable_now() const noexcept;
  void give_up() noexcept;

  ThreadPool& pool_;
  bool possible_;
  std::optional<UnyieldingWait> unyielding_;  // while it is possible
  int timeouts_ = 0;                          // in a row
  bool lost_ = false;                         // given up after threads had arrived before
  std::int64_t calls_ = 0, late_arrivals_ = 0;
  std::int64_t begin_ns_ = 0, waited_ns_ = 0;
  std::vector<ThreadPlace> places_;  // of the pinned threads
};

}  // namespace softneuro
