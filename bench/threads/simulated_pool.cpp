#include "threads/simulated_pool.h"

#include <algorithm>

#include "core/base/clock.h"

namespace softneuro::bench {
namespace {

std::int64_t g_saved_ns = 0;  // what more threads would not have taken
std::int64_t simulated_ns() noexcept {
  return machine_ns() - g_saved_ns;
}

}  // namespace

SimulatedPool::SimulatedPool(int threads, double call_ns)
    : busy_until_(static_cast<std::size_t>(threads)), call_ns_(call_ns) {
  clock_source = simulated_ns;
}

SimulatedPool::~SimulatedPool() {
  clock_source = nullptr;
}

void SimulatedPool::run(std::size_t count, Task task, void* context) noexcept {
  if (inside_ || busy_until_.size() == 1 || count == 1) {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  inside_ = true;
  std::ranges::fill(busy_until_, 0.0);
  const std::int64_t begin = machine_ns();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t task_begin = machine_ns();
    task(context, i);
    *std::ranges::min_element(busy_until_) += static_cast<double>(machine_ns() - task_begin);
  }
  const double took = std::ranges::max(busy_until_) + call_ns_;
  g_saved_ns += machine_ns() - begin - static_cast<std::int64_t>(took);
  ++calls_;
  inside_ = false;
}

}  // namespace softneuro::bench
