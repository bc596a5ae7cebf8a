// ThreadPool: who does the work of parallel kernels.
#pragma once

#include <cstddef>
#include <memory>

#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

// Implemented by an application that provides its own threads. A task of the built-in routines
// takes up to about 100 KiB of stack: give threads 256 KiB at least, and what libraries need.
class SN_API ThreadPool {
 public:
  using Task = void (*)(void* context, std::size_t index);
  virtual ~ThreadPool();
  // Maximum number of threads that work for one caller, the calling thread included. Precondition:
  // >= 1. The same for the life of the pool: plans are made for it.
  virtual int concurrency() const noexcept = 0;
  // Calls task(context, i) exactly once for each i in [0, count), from any of its threads, in any
  // order, and returns when all are done: `task` is not called afterwards. count may be 0. The
  // calling thread takes part. Must be callable from several threads at once, and from within a
  // task (then it may run the tasks in place). Must not allocate or throw, so that Session::run
  // does neither.
  virtual void run(std::size_t count, Task task, void* context) noexcept = 0;
  // A burst is a sequence of run() calls that follow each other closely, such as all layers of one
  // Session::run. During a burst workers may spin (busy-wait) for the next call, since waking a
  // blocked thread can take longer than a small layer. begin_burst() and end_burst() are called in
  // pairs, from any threads; bursts may overlap and nest. They allocate nothing. A pool that does
  // not spin need not override them.
  virtual void begin_burst() noexcept {}
  virtual void end_burst() noexcept {}
};

// How long, in µs, a worker of create_thread_pool() busy-waits for the next run() within a burst,
// and a caller for its last worker: several times the latency of waking a thread.
inline constexpr int kSpinMicroseconds = 200;

// A pool of `threads` − 1 workers; the caller is the remaining thread. Within a burst an idle
// worker busy-waits for `spin_us` (0: not at all), then blocks. Between bursts workers block and
// use no processor time, with one exception: after a burst that had begun less than 50 µs after the
// one before had ended, they busy-wait for up to 50 µs, or until another pool of this process
// begins a burst. threads = 0: one per physical core that this process may use now: of its
// processor affinity, those that share a core counted once, and no more than the quota of its
// cgroup (v2, rounded up). Workers help with at most 8 calls of run() at a time; further ones work
// on the calling thread alone, as do all after fork() in the child, where there are no workers. The
// pool must outlive the nets that use it, and everything that comes from them. Errors:
// invalid_argument (threads not in [0, 1024], spin_us not in [0, 1000000]), out_of_memory (a thread
// cannot be started).
SN_API Result<std::unique_ptr<ThreadPool>> create_thread_pool(
    int threads, int spin_us = kSpinMicroseconds) noexcept;

}  // namespace softneuro
