#include "profiler/measure/pool_barrier.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "core/base/parallel.h"
#include "core/base/physical_cores.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/timer.h"

namespace softneuro {

// The processor that a thread runs on, and those that it may run on.
struct PoolBarrier::ThreadPlace {
  pid_t thread = 0;
  int processor = -1;
  cpu_set_t allowed = {};
};

struct PoolBarrier::State {
  std::vector<ThreadPlace>* places = nullptr;  // one per thread; null: not asked for
  int all = 0;
  std::int64_t late_ns = 0, closes_ns = 0;
  std::atomic<int> arrived{0};
};

PoolBarrier::PoolBarrier(ThreadPool& pool) noexcept
    : pool_(pool),
      possible_(pool.concurrency() > 1 &&
                pool.concurrency() <= static_cast<int>(std::thread::hardware_concurrency())),
      begin_ns_(clock_ns()) {
  if (possible_) unyielding_.emplace();
}

PoolBarrier::~PoolBarrier() {
  for (const ThreadPlace& place : places_)
    sched_setaffinity(place.thread, sizeof place.allowed, &place.allowed);
}

// No thread leaves before all have arrived, so each thread takes one task.
void PoolBarrier::arrive(void* context, std::size_t index) noexcept {
  State& state = *static_cast<State*>(context);
  if (state.places != nullptr) {
    ThreadPlace& place = (*state.places)[index];
    if (sched_getaffinity(0, sizeof place.allowed, &place.allowed) == 0) {
      place.thread = gettid();
      place.processor = sched_getcpu();
    }
  }
  state.arrived.fetch_add(1, std::memory_order_acq_rel);
  while (state.arrived.load(std::memory_order_acquire) < state.all) {
    const std::int64_t now = clock_ns();
    if (now >= state.closes_ns) break;
    // Leaves its processor, which the late one may need: where two threads are on one processor,
    // spinning would keep them apart for whole time slices.
    if (now >= state.late_ns) std::this_thread::sleep_for(constants::kBetweenLooks);
  }
}

bool PoolBarrier::wait_for_all(std::vector<ThreadPlace>* places) noexcept {
  const std::int64_t begin = clock_ns();
  State state;
  state.places = places;
  state.all = pool_.concurrency();
  state.late_ns = begin + constants::kAtOnceNs;
  state.closes_ns = begin + constants::kLatestNs;
  pool_.run(static_cast<std::size_t>(state.all), arrive, &state);
  const std::int64_t took = clock_ns() - begin;
  // A pool may have lent its threads elsewhere for good, or run every task on one of them.
  timeouts_ = took < constants::kLatestNs ? 0 : timeouts_ + 1;
  if (timeouts_ == constants::kMostTimeouts) give_up();
  return took <= constants::kAtOnceNs;
}

// Processors that the pool's threads, which may be pinned, may run on together; 0: not known.
int PoolBarrier::usable_now() const noexcept {
  if (places_.empty()) return count_usable_processors();
  cpu_set_t all, allowed;
  CPU_ZERO(&all);
  for (const ThreadPlace& place : places_)
    if (sched_getaffinity(place.thread, sizeof allowed, &allowed) == 0)
      CPU_OR(&all, &all, &allowed);
  return CPU_COUNT(&all);
}

void PoolBarrier::give_up() noexcept {
  possible_ = false;
  unyielding_.reset();
  lost_ = late_arrivals_ < calls_;
}

bool PoolBarrier::synchronize() noexcept {
  if (!possible_) return true;
  const std::int64_t begin = clock_ns();
  const bool at_once = wait_for_all(nullptr);
  ++calls_;
  late_arrivals_ += !at_once;
  if (at_once) return true;
  waited_ns_ += clock_ns() - begin;
  // Threads that share a processor never run at once: waiting for it would take whole time slices.
  const int usable = usable_now();
  if (possible_ && usable > 0 && usable < pool_.concurrency()) give_up();
  return false;
}

void PoolBarrier::observe() noexcept {
  const std::int64_t end = clock_ns() + constants::kLeastNs;
  while (possible_ && clock_ns() < end) synchronize();
}

double PoolBarrier::waited() const noexcept {
  return static_cast<double>(waited_ns_) /
         static_cast<double>(std::max(clock_ns() - begin_ns_, constants::kLeastNs));
}

void PoolBarrier::pin_threads() {
  if (!possible_ || !places_.empty()) return;
  std::vector<ThreadPlace> places(static_cast<std::size_t>(pool_.concurrency()));
  {
    const PoolBurst burst(pool_);
    wait_for_all(&places);
  }
  std::set<int> taken;
  std::set<pid_t> threads;
  for (ThreadPlace& place : places) {
    if (place.thread == 0 || !threads.insert(place.thread).second) return;  // not all have arrived
    for (int cpu = 0; taken.contains(place.processor) && cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &place.allowed)) place.processor = cpu;
    if (place.processor < 0 || !taken.insert(place.processor).second) return;  // too few for all
  }
  for (const ThreadPlace& place : places) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(place.processor, &one);
    sched_setaffinity(place.thread, sizeof one, &one);
  }
  places_ = std::move(places);
}

}  // namespace softneuro
