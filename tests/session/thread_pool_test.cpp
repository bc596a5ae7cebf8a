// The thread pool: every task once, nesting, several callers, fork, and quiet while idle.
#include "softneuro/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/base/parallel.h"
#include "support/new_threads.h"

using namespace softneuro;

TEST_CASE("each index runs exactly once, for any number of threads", "[threads]") {
  for (const int threads : {1, 2, 3, 8}) {
    auto pool = create_thread_pool(threads).value();
    CHECK(pool->concurrency() == threads);
    for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<std::atomic<int>> hits(count);
      parallel_for(*pool, static_cast<std::int64_t>(count),
                   [&](std::int64_t i) { ++hits[static_cast<std::size_t>(i)]; });
      for (const auto& hit : hits) REQUIRE(hit == 1);
    }
  }
}

TEST_CASE("ranges cover everything once and do not depend on threads", "[threads]") {
  auto one = create_thread_pool(1).value();
  auto four = create_thread_pool(4).value();
  for (const std::int64_t count : {1, 5, 63, 64, 65, 1000}) {
    std::set<std::pair<std::int64_t, std::int64_t>> a, b;
    std::mutex mutex;
    parallel_ranges(*one, count, 4, [&](auto first, auto last) { a.insert({first, last}); });
    parallel_ranges(*four, count, 4, [&](auto first, auto last) {
      const std::lock_guard<std::mutex> lock(mutex);
      b.insert({first, last});
    });
    CHECK(a == b);
    std::int64_t next = 0;
    for (const auto& [first, last] : a) {
      CHECK(first == next);
      next = last;
    }
    CHECK(next == count);
  }
}

TEST_CASE("tasks may nest, and several threads may call at once", "[threads]") {
  auto pool = create_thread_pool(3).value();
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        parallel_for(*pool, 10,
                     [&](std::int64_t) { parallel_for(*pool, 3, [&](std::int64_t) { ++total; }); });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 4 * 50 * 10 * 3);
}

TEST_CASE("never more threads than the cap for one caller", "[threads]") {
  auto pool = create_thread_pool(2).value();
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  parallel_for(*pool, 200, [&](std::int64_t) {
    const int now = ++inside;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --inside;
  });
  CHECK(most <= 2);
}

TEST_CASE("a thread that wakes now and then does not stay asleep", "[threads]") {
  const test::NewThreads threads;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  CHECK_FALSE(threads.stay_asleep());
  done = true;
  thread.join();
}

TEST_CASE("threads of an idle pool sleep", "[threads]") {
  const test::NewThreads threads;
  auto pool = create_thread_pool(4).value();
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) parallel_for(*pool, 100, [](std::int64_t) {});
  };
  work();
  for (int run = 0; run < 10; ++run) {  // one right behind the other
    const PoolBurst burst(*pool);
    work();
  }
  CHECK(threads.stay_asleep());
}

TEST_CASE("workers that wait for a burst to follow give up when none does", "[threads]") {
  const test::NewThreads threads;
  auto pool = create_thread_pool(2, 100'000).value();
  for (int turn = 0; turn < 2; ++turn) {
    const PoolBurst burst(*pool);
    parallel_for(*pool, 100, [](std::int64_t) {});
  }
  CHECK(threads.stay_asleep());
}

TEST_CASE("workers park in a burst, too, when nothing comes for long", "[threads]") {
  const test::NewThreads threads;
  auto pool = create_thread_pool(4, 1000).value();
  const PoolBurst burst(*pool);
  parallel_for(*pool, 100, [](std::int64_t) {});
  CHECK(threads.stay_asleep());
}

TEST_CASE("bursts of several threads overlap, with and without waiting awake", "[threads]") {
  for (const int spin_us : {0, 20, kSpinMicroseconds}) {
    auto pool = create_thread_pool(3, spin_us).value();
    std::atomic<int> total{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&] {
        for (int round = 0; round < 100; ++round) {
          const PoolBurst burst(*pool);
          for (int layer = 0; layer < 5; ++layer)
            parallel_for(*pool, 1 + layer, [&](std::int64_t) { ++total; });
        }
      });
    for (std::thread& caller : callers) caller.join();
    CHECK(total == 4 * 100 * (1 + 2 + 3 + 4 + 5));
  }
}

// Tasks that were run by so many callers at once, each of which calls run() so often.
static int tasks_of_callers(ThreadPool& pool, int callers, int calls, std::int64_t tasks) {
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  for (int c = 0; c < callers; ++c)
    threads.emplace_back([&] {
      for (int i = 0; i < calls; ++i) parallel_for(pool, tasks, [&](std::int64_t) { ++total; });
    });
  for (std::thread& thread : threads) thread.join();
  return total;
}

TEST_CASE("no caller waits for ever where jobs end before workers are there", "[threads]") {
  CHECK(tasks_of_callers(*create_thread_pool(6, 0).value(), 3, 10000, 2) == 3 * 10000 * 2);
}

TEST_CASE("more callers than the pool has places for jobs", "[threads]") {
  CHECK(tasks_of_callers(*create_thread_pool(3).value(), 20, 100, 7) == 20 * 100 * 7);
}

TEST_CASE("a forked child works on the calling thread", "[threads]") {
  auto pool = create_thread_pool(4).value();
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> count{0};
    parallel_for(*pool, 100, [&](std::int64_t) { ++count; });
    alarm(10);  // should destroying the pool wait for threads that only the parent has
    pool.reset();
    _exit(count == 100 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("absurd thread counts are refused", "[threads]") {
  CHECK_FALSE(create_thread_pool(-1).ok());
  CHECK_FALSE(create_thread_pool(1 << 20).ok());
  CHECK_FALSE(create_thread_pool(2, -1).ok());
  CHECK(create_thread_pool(0).value()->concurrency() >= 1);
}
