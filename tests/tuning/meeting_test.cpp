// Meetings of a pool's threads: what keeps measurements apart from a neighbour's load.
#include "profiler/measure/meeting.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/parallel.h"

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
      if (late-- > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
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

TEST_CASE("meeting: all threads of the pool are there", "[meeting]") {
  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  const auto pool = create_thread_pool(2).value();
  Meeting meeting(*pool);
  const PoolBurst burst(*pool);
  int at_once = 0;
  for (int i = 0; i < 200; ++i) at_once += meeting.gather();
  CHECK(meeting.calls() == 200);
  CHECK(meeting.calls() - meeting.delays() == at_once);
}

TEST_CASE("meeting: a thread that comes late is noticed, and the time that it took", "[meeting]") {
  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  LatePool pool;
  pool.late = 2;  // more in a row might, on a busy machine, be a reason to give up
  Meeting meeting(pool);
  CHECK_FALSE(meeting.disturbed());
  CHECK_FALSE(meeting.gather());
  CHECK_FALSE(meeting.gather());
  CHECK(meeting.calls() == 2);
  CHECK(meeting.delays() == 2);
  CHECK(meeting.waited() > 0.05);
  CHECK(meeting.waited() <= 1);
  CHECK(meeting.disturbed());
}

TEST_CASE("meeting: one thread meets nobody, and a pool that never comes is given up",
          "[meeting]") {
  const auto single = create_thread_pool(1).value();
  Meeting alone(*single);
  CHECK(alone.gather());
  CHECK(alone.calls() == 0);

  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: one processor");
    return;
  }
  LonelyPool lonely;
  Meeting meeting(lonely);
  meeting.hold_places();  // finds one thread only: holds nothing
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) meeting.gather();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  CHECK(meeting.gather());
}

TEST_CASE("meeting: places are different processors, and are given back", "[meeting]") {
  const cpu_set_t before = affinity();
  if (CPU_COUNT(&before) < 2) {
    WARN("skipped: one processor");
    return;
  }
  const auto pool = create_thread_pool(2).value();
  {
    Meeting meeting(*pool);
    meeting.hold_places();
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
