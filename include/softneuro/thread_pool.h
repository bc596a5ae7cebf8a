// ThreadPool: who does the work of parallel kernels.
#pragma once

#include <cstddef>
#include <memory>

#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

// Implemented by a host application that wants to lend its own threads.
class SN_API ThreadPool {
 public:
  using Task = void (*)(void* context, std::size_t index);
  virtual ~ThreadPool();
  // The most threads that work at once for one caller, the calling thread included (>= 1).
  virtual int concurrency() const noexcept = 0;
  // Calls task(context, i) exactly once for each i in [0, count), from any of its threads, in any
  // order, and returns when all are done. The calling thread takes part. Must be callable from
  // several threads at once, and from within a task (then it may run the tasks in place).
  // Allocates nothing.
  virtual void run(std::size_t count, Task task, void* context) noexcept = 0;
};

// A pool of `threads` − 1 workers (the caller is the last one) that park while idle and burn no
// processor time. threads = 0: one per processor that this process may use.
// After fork() in the child there are no workers: run() then works on the calling thread alone.
SN_API Result<std::unique_ptr<ThreadPool>> create_thread_pool(int threads) noexcept;

}  // namespace softneuro
