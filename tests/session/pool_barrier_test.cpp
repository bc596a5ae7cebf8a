// The barrier across a pool's threads, which keeps measurements apart from the load of other
// processes.
#include "profiler/measure/pool_barrier.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/parallel.h"
#include "support/skip.h"

using namespace softneuro;

namespace {

// Claims more threads than there are: runs everything on the caller.
class LonelyPool final : public ThreadPool {
 public:
  int concurrency() const noexcept override { return 2; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
};

// Its second thread is somewhere else for a while, as often as it is told.
class LatePool final : public ThreadPool {
 public:
  int late = 0;
  int concurrency() const noexcept override { return 2; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    std::thread second([&] {
      if (late-- > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (std::size_t i = 1; i < count; ++i) task(context, i);
    });
    task(context, 0);
    second.join();
  }
};

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

TEST_CASE("pool barrier: every thread of the pool runs when synchronize() returns", "[barrier]") {
  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  const auto pool = create_thread_pool(2).value();
  PoolBarrier barrier(*pool);
  const PoolBurst burst(*pool);
  int at_once = 0;
  for (int i = 0; i < 200; ++i) at_once += barrier.synchronize();
  CHECK(barrier.calls() == 200);
  CHECK(barrier.calls() - barrier.late_arrivals() == at_once);
}

TEST_CASE("pool barrier: a thread that arrives late is counted with the time waited for it",
          "[barrier][alone]") {
  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  LatePool pool;
  PoolBarrier barrier(pool);
  CHECK_FALSE(barrier.disturbed());
  for (int i = 0; i < 3; ++i) {
    pool.late = 1;
    CHECK_FALSE(barrier.synchronize());
    if (i == 0) CHECK_FALSE(barrier.disturbed());  // once shows nothing
    barrier.synchronize();  // several late ones in a row might be a reason to give up
  }
  CHECK(barrier.calls() == 6);
  CHECK(barrier.late_arrivals() >= 3);
  CHECK(barrier.waited() > 0);
  CHECK(barrier.waited() <= 1);
  CHECK(barrier.disturbed());
}

TEST_CASE("pool barrier: it is given up when fewer processors than threads are left",
          "[barrier][alone]") {
  const cpu_set_t before = affinity();
  if (CPU_COUNT(&before) < 2) {
    WARN("skipped: one processor");
    return;
  }
  LatePool pool;
  PoolBarrier barrier(pool);
  bool arrived = false;  // on a busy machine threads may be late
  for (int i = 0; i < 100 && !arrived; ++i) arrived = barrier.synchronize();
  if (!arrived) SN_SKIP("threads are made too slowly here to arrive together");
  int only = 0;
  while (!CPU_ISSET(only, &before)) ++only;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(only, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  pool.late = 1;
  CHECK_FALSE(barrier.synchronize());
  CHECK(barrier.disturbed());
  const std::int64_t calls = barrier.calls();
  pool.late = 1;
  CHECK(barrier.synchronize());
  CHECK(barrier.calls() == calls);
  CHECK(pool.late == 1);  // nothing waited for it
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("pool barrier: one thread returns at once; a pool whose threads never arrive is given up",
          "[barrier]") {
  const auto single = create_thread_pool(1).value();
  PoolBarrier alone(*single);
  CHECK(alone.synchronize());
  CHECK(alone.calls() == 0);

  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  LonelyPool lonely;
  PoolBarrier barrier(lonely);
  barrier.pin_threads();  // finds one thread only: pins nothing
  for (int i = 0; i < 1000; ++i) barrier.synchronize();
  CHECK(barrier.calls() < 100);  // it did not wait 1000 times
  CHECK(barrier.synchronize());
}

TEST_CASE("pool barrier: threads are pinned to different processors and unpinned afterwards",
          "[barrier]") {
  const cpu_set_t before = affinity();
  if (CPU_COUNT(&before) < 2) {
    WARN("skipped: one processor");
    return;
  }
  const auto pool = create_thread_pool(2).value();
  {
    PoolBarrier barrier(*pool);
    barrier.pin_threads();
    std::mutex mutex;
    std::set<int> processors;
    int unheld = 0;
    const PoolBurst burst(*pool);
    for (int i = 0; i < 50; ++i)
      parallel_for(*pool, 2, [&](std::int64_t) {
        const cpu_set_t now = affinity();
        const std::lock_guard<std::mutex> lock(mutex);
        unheld += CPU_COUNT(&now) != 1;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
          if (CPU_ISSET(cpu, &now)) processors.insert(cpu);
      });
    CHECK(unheld == 0);
    CHECK(processors.size() <= 2);
  }
  const cpu_set_t after = affinity();
  CHECK(CPU_EQUAL(&before, &after));
}
