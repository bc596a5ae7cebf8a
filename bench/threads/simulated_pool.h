// A pool of more threads than the machine has: how long a net would take with them.
#pragma once

#include <cstddef>
#include <vector>

#include "softneuro/thread_pool.h"

namespace softneuro::bench {

// Runs all tasks on the calling thread and measures each. As long as the pool lives, clock_ns()
// advances by what so many threads would have taken: each task, in order, goes to the thread that
// is free first. Within run() it is ahead of that. Caches and memory that threads share are not
// simulated. One pool at a time, one caller.
class SimulatedPool final : public ThreadPool {
 public:
  // `call_ns`: what one run() takes beside its tasks.
  SimulatedPool(int threads, double call_ns);
  ~SimulatedPool() override;
  int concurrency() const noexcept override { return static_cast<int>(busy_until_.size()); }
  void run(std::size_t count, Task task, void* context) noexcept override;

  std::size_t calls() const noexcept { return calls_; }

 private:
  std::vector<double> busy_until_;  // by thread, ns since the run began
  double call_ns_;
  std::size_t calls_ = 0;
  bool inside_ = false;  // a task: nested calls run in place
};

}  // namespace softneuro::bench
