// The library's own thread pool: workers park on a condition variable, callers work along. Within
// bursts, both wait awake for a while before they park: on a virtual machine, waking a thread took
// 60 µs, as long as a small layer. Where bursts follow each other at once, workers wait awake for
// the next one, too: a small net's first layers would be over before a worker is up.
//
// Jobs live on their callers' stacks in an intrusive list, so run() allocates nothing. A worker
// that is free helps the job at the head of the list. No lock is held while a task runs.
//
// A job's indices are cut into one run per thread. A thread claims those of its own run, each with
// one atomic addition, then helps with the others': so from layer to layer the same thread works on
// the same part of a map, which its cache may still hold, and no thread idles while there is work.
#include "softneuro/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/physical_cores.h"

namespace softneuro {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMostSpinMicroseconds = 1'000'000;
// Bursts that are nearer to each other follow at once.
constexpr std::int64_t kLingerNs = 50'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

// The pool that began a burst last, in this process. Its workers alone linger: in a chain of nets
// with pools of their own, those of one net would take processors from the next. A hint only.
std::atomic<const void*> g_last_to_begin{nullptr};

constexpr std::size_t kMostRuns = 16;  // more threads share them
constexpr std::size_t kCacheLine = 64;

// Indices that one thread claims first.
struct alignas(kCacheLine) IndexRun {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

struct Job {
  Job(ThreadPool::Task task_of_job, void* context_of_task, std::size_t count, std::size_t threads)
      : task(task_of_job), context(context_of_task), run_count(std::min(threads, kMostRuns)) {
    for (std::size_t i = 0; i < run_count; ++i) {
      runs[i].next.store(count * i / run_count, std::memory_order_relaxed);
      runs[i].end = count * (i + 1) / run_count;
    }
  }

  // Whether there are unclaimed indices.
  bool open() const noexcept {
    for (std::size_t i = 0; i < run_count; ++i)
      if (runs[i].next.load(std::memory_order_relaxed) < runs[i].end) return true;
    return false;
  }

  ThreadPool::Task task;
  void* context;
  std::size_t run_count;
  IndexRun runs[kMostRuns];
  std::atomic<int> helpers{0};  // workers inside this job; changed under the pool's mutex
  Job* later = nullptr;
};

// True while this thread is inside a task: nested calls run in place, which cannot deadlock and
// keeps the number of threads at the cap.
thread_local bool t_inside_task = false;

// All unclaimed indices. `thread`: 0 for callers, then the pool's workers.
void work(Job& job, std::size_t thread) noexcept {
  const bool outer = t_inside_task;
  t_inside_task = true;
  for (std::size_t r = 0; r < job.run_count; ++r) {
    IndexRun& run = job.runs[(thread + r) % job.run_count];
    if (run.next.load(std::memory_order_relaxed) >= run.end) continue;
    for (std::size_t i = run.next.fetch_add(1, std::memory_order_relaxed); i < run.end;
         i = run.next.fetch_add(1, std::memory_order_relaxed))
      job.task(job.context, i);
  }
  t_inside_task = outer;
}

// All of them on this thread.
void work_alone(ThreadPool::Task task, void* context, std::size_t count) noexcept {
  const bool outer = t_inside_task;
  t_inside_task = true;
  for (std::size_t i = 0; i < count; ++i) task(context, i);
  t_inside_task = outer;
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits awake until done() or for `limit`; returns whether it is done.
template <class Done>
bool spin_until(std::chrono::microseconds limit, Done&& done) noexcept {
  constexpr int kLooksPerClock = 16;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// Where threads wait. Not destroyed in a fork()ed child, whose copy still counts the parent's
// parked threads as waiting: destroying a condition variable waits for these.
struct Parking {
  std::mutex mutex;
  std::condition_variable wake, done;
};

class ParkingThreadPool final : public ThreadPool {
 public:
  ParkingThreadPool(int threads, int spin_us)
      : threads_(threads), spin_(spin_us), owner_(getpid()) {}

  ~ParkingThreadPool() override {
    if (getpid() != owner_) {  // a fork()ed child: the workers do not exist here
      for (std::thread& worker : workers_) worker.detach();
      static_cast<void>(parking_.release());
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      posted_.fetch_add(1, std::memory_order_release);  // for those that wait awake
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Status start() {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) {
#if defined(__cpp_exceptions)
      try {
        workers_.emplace_back([this, i] { serve(static_cast<std::size_t>(i)); });
      } catch (const std::exception& e) {
        return make_error(StatusCode::out_of_memory, "cannot start thread {} of {}: {}", i + 1,
                          threads_, e.what());
      }
#else
      workers_.emplace_back([this, i] { serve(static_cast<std::size_t>(i)); });
#endif
    }
    return {};
  }

  int concurrency() const noexcept override {
    return threads_;
  }

  void run(std::size_t count, Task task, void* context) noexcept override {
    if (count == 0) return;
    if (count == 1 || workers_.empty() || t_inside_task || getpid() != owner_)
      return work_alone(task, context, count);
    Job job(task, context, count, static_cast<std::size_t>(threads_));
    post(job, count - 1);
    work(job, 0);
    finish(job);
  }

  // What is written here and read by may_spin() only decides how threads wait: a stale value, or
  // one of overlapping bursts, does no harm.
  void begin_burst() noexcept override {
    if (bursts_.fetch_add(1, std::memory_order_acquire) > 0) return;
    const std::int64_t gap = clock_ns() - ended_ns_.load(std::memory_order_relaxed);
    const bool again = g_last_to_begin.load(std::memory_order_relaxed) == this;
    if (!again) g_last_to_begin.store(this, std::memory_order_relaxed);
    linger_.store(again && gap < kLingerNs, std::memory_order_relaxed);
  }
  void end_burst() noexcept override {
    ended_ns_.store(clock_ns(), std::memory_order_relaxed);
    bursts_.fetch_sub(1, std::memory_order_release);  // who sees none sees the time as well
  }

 private:
  bool in_burst() const noexcept {
    return bursts_.load(std::memory_order_acquire) > 0;
  }
  // Shortly after a burst that followed at once on another one, while no other pool spins.
  bool lingers() const noexcept {
    return linger_.load(std::memory_order_relaxed) &&
           g_last_to_begin.load(std::memory_order_relaxed) == this &&
           clock_ns() - ended_ns_.load(std::memory_order_relaxed) < kLingerNs;
  }
  bool may_spin() const noexcept {
    return spin_.count() > 0 && (in_burst() || lingers());
  }

  // For at most `to_wake` workers.
  void post(Job& job, std::size_t to_wake) noexcept {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      *tail_ = &job;
      tail_ = &job.later;
      // Those that are awake all look; who finds nothing counts itself again.
      to_wake -= std::min(to_wake, spinning_);
      to_wake = std::min(to_wake, parked_);
      spinning_ = 0;
      posted_.fetch_add(1, std::memory_order_release);
    }
    if (to_wake > 1)
      wake_.notify_all();
    else if (to_wake == 1)
      wake_.notify_one();
  }

  // Waits until no thread works on the job, which no worker can find any more.
  void finish(Job& job) noexcept {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      remove(job);
    }
    const auto done = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
    if (done() || (spin_.count() > 0 && in_burst() && spin_until(spin_, done))) return;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, done);
  }

  void remove(Job& job) noexcept {
    for (Job** place = &head_; *place != nullptr; place = &(*place)->later)
      if (*place == &job) {
        *place = job.later;
        if (tail_ == &job.later) tail_ = place;
        return;
      }
  }

  // The first job that still has unclaimed indices.
  Job* open_job() noexcept {
    for (Job* job = head_; job != nullptr; job = job->later)
      if (job->open()) return job;
    return nullptr;
  }

  void serve(std::size_t thread) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stop_) {
      if (Job* job = open_job())
        help(*job, thread, lock);
      else if (!await_awake(lock))
        park(lock);
    }
  }

  void help(Job& job, std::size_t thread, std::unique_lock<std::mutex>& lock) noexcept {
    job.helpers.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    work(job, thread);
    lock.lock();
    // The caller may leave run() as soon as it sees zero: job is not touched afterwards.
    if (job.helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
  }

  // Whether something was posted meanwhile.
  bool await_awake(std::unique_lock<std::mutex>& lock) noexcept {
    if (!may_spin()) return false;
    const std::size_t seen = posted_.load(std::memory_order_relaxed);
    ++spinning_;
    lock.unlock();
    spin_until(spin_,
               [&] { return posted_.load(std::memory_order_relaxed) != seen || !may_spin(); });
    lock.lock();
    if (posted_.load(std::memory_order_relaxed) != seen) return true;
    --spinning_;
    return false;
  }

  void park(std::unique_lock<std::mutex>& lock) noexcept {
    ++parked_;
    wake_.wait(lock, [&] { return stop_ || open_job() != nullptr; });
    --parked_;
  }

  const int threads_;
  const std::chrono::microseconds spin_;
  const pid_t owner_;
  std::vector<std::thread> workers_;
  std::unique_ptr<Parking> parking_ = std::make_unique<Parking>();
  std::mutex& mutex_ = parking_->mutex;
  std::condition_variable& wake_ = parking_->wake;
  std::condition_variable& done_ = parking_->done;
  Job* head_ = nullptr;
  Job** tail_ = &head_;
  std::size_t parked_ = 0;
  std::size_t spinning_ = 0;            // awake since the last job was posted, and without one
  std::atomic<std::size_t> posted_{0};  // changed under the mutex
  std::atomic<int> bursts_{0};          // that are going on
  std::atomic<std::int64_t> ended_ns_{kNever};  // when the last one did
  std::atomic<bool> linger_{false};             // it had followed at once on the one before
  bool stop_ = false;
};

}  // namespace

ThreadPool::~ThreadPool() = default;

Result<std::unique_ptr<ThreadPool>> create_thread_pool(int threads, int spin_us) noexcept {
  return guarded([&]() -> Result<std::unique_ptr<ThreadPool>> {
    if (threads < 0 || threads > kMaxThreads)
      return invalid_argument("threads = {}: expected 0 (one per physical core) to {}", threads,
                              kMaxThreads);
    if (spin_us < 0 || spin_us > kMostSpinMicroseconds)
      return invalid_argument("spin_us = {}: expected 0 (park at once) to {}", spin_us,
                              kMostSpinMicroseconds);
    if (threads == 0) threads = std::min(physical_cores(), kMaxThreads);
    auto pool = std::make_unique<ParkingThreadPool>(threads, spin_us);
    SN_RETURN_IF_ERROR(pool->start());
    return std::unique_ptr<ThreadPool>(std::move(pool));
  });
}

}  // namespace softneuro
