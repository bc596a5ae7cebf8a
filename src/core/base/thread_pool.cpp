// The library's own thread pool: workers park on a condition variable, callers work along. Within
// bursts, both wait awake for a while before they park: on a virtual machine, waking a thread took
// 60 µs, as long as a small layer. Where bursts follow each other at once, workers wait awake for
// the next one, too: a small net's first layers would be over before a worker is up.
//
// A caller puts its job into one of the pool's slots, so run() allocates nothing. Workers join and
// leave a slot's job by one atomic addition each: with a lock, sixteen threads spent more time on
// it than a small layer takes. The mutex is for parking alone.
//
// A job's indices are partitioned into one run per thread. A thread claims those of its own run,
// each with one atomic addition, then helps with the others': so from layer to layer the same
// thread works on the same part of a map, which its cache may still hold, and no thread idles while
// there is work.
#include "softneuro/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "core/base/unyielding_wait.h"

namespace softneuro {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMostSpinMicroseconds = 1'000'000;
// Bursts that are nearer to each other follow at once.
constexpr std::int64_t kSpinWindowNs = 50'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

// The pool that began a burst last, in this process. Its workers alone spin after it: in a chain of
// nets with pools of their own, those of one net would take processors from the next. A hint only.
std::atomic<const void*> g_last_to_begin{nullptr};

std::atomic<int> g_unyielding_waits{0};  // UnyieldingWait

constexpr std::size_t kMostRuns = 16;  // more threads share them
constexpr std::size_t kSlots = 8;      // of jobs that workers help with at a time
constexpr std::size_t kCacheLine = 64;

// Indices that one thread claims first.
struct alignas(kCacheLine) IndexRun {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

// One job after the other. A caller takes the slot, describes its job, opens it, works along,
// closes it, and waits until the last helper has left.
class alignas(kCacheLine) Slot {
 public:
  bool take() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() noexcept { is_taken_.store(false, std::memory_order_release); }

  void open(ThreadPool::Task task, void* context, std::size_t count, std::size_t threads) noexcept {
    task_ = task;
    context_ = context;
    run_count_ = std::min({threads, kMostRuns, count});
    for (std::size_t i = 0; i < run_count_; ++i) {
      runs_[i].next.store(count * i / run_count_, std::memory_order_relaxed);
      runs_[i].end = count * (i + 1) / run_count_;
    }
    state_.fetch_add(kOpen, std::memory_order_release);
  }
  void close() noexcept { state_.fetch_sub(kOpen, std::memory_order_relaxed); }

  bool is_open() const noexcept { return (state_.load(std::memory_order_relaxed) & kOpen) != 0; }
  // Whether a worker may work(): the job may have been closed meanwhile, and what it would read may
  // be of another one, or half written. It leaves in either case.
  bool join() noexcept {
    return (state_.fetch_add(kHelper, std::memory_order_acquire) & kOpen) != 0;
  }
  // Whether it was the last one inside a closed job, whose caller may then return.
  bool leave() noexcept { return state_.fetch_sub(kHelper) == kHelper; }
  bool is_done() const noexcept { return state_.load() == 0; }
  std::size_t helpers() const noexcept { return state_.load(std::memory_order_relaxed) / kHelper; }

  // All unclaimed indices. `thread`: 0 for callers, then the pool's workers.
  void work(std::size_t thread) noexcept;

 private:
  static constexpr std::size_t kOpen = 1, kHelper = 2;

  std::atomic<std::size_t> state_{0};  // kOpen, and kHelper for each worker inside
  std::atomic<bool> is_taken_{false};
  ThreadPool::Task task_ = nullptr;
  void* context_ = nullptr;
  std::size_t run_count_ = 0;
  IndexRun runs_[kMostRuns];
};

// True while this thread is inside a task: nested calls run in place, which cannot deadlock and
// keeps the number of threads at the cap.
thread_local bool t_inside_task = false;

void Slot::work(std::size_t thread) noexcept {
  const bool outer = t_inside_task;
  t_inside_task = true;
  // Beside state_, which changes while others join and leave.
  const ThreadPool::Task task = task_;
  void* const context = context_;
  const std::size_t run_count = run_count_;
  for (std::size_t r = 0; r < run_count; ++r) {
    IndexRun& run = runs_[(thread + r) % run_count];
    if (run.next.load(std::memory_order_relaxed) >= run.end) continue;
    for (std::size_t i = run.next.fetch_add(1, std::memory_order_relaxed); i < run.end;
         i = run.next.fetch_add(1, std::memory_order_relaxed))
      task(context, i);
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

// Waits awake until done() or for `limit`; returns whether it is done. It yields now and then: what
// is waited for may need this processor, where threads or processes are more than processors.
template <class Done>
bool spin_until(std::chrono::microseconds limit, Done&& done) noexcept {
  constexpr int kLooksPerClock = 16;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (done()) return true;
      relax();
    }
    if (g_unyielding_waits.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
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
      ++posted_;
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
        return make_error(StatusCode::out_of_memory,
                          "cannot start thread {} of {}: {}; ask for fewer (NetOptions::threads, "
                          "--threads), or raise the system's limit (ulimit -u)",
                          i + 1, threads_, e.what());
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
    const auto slot = std::ranges::find_if(slots_, [](Slot& each) { return each.take(); });
    if (slot == slots_.end()) return work_alone(task, context, count);
    slot->open(task, context, count, static_cast<std::size_t>(threads_));
    wake(count - 1);
    slot->work(0);
    slot->close();
    await(*slot);
    slot->give_back();
  }

  // What is written here and read by may_spin() only decides how threads wait: a stale value, or
  // one of overlapping bursts, does no harm.
  void begin_burst() noexcept override {
    if (bursts_.fetch_add(1, std::memory_order_acquire) > 0) return;
    const std::int64_t gap = clock_ns() - ended_ns_.load(std::memory_order_relaxed);
    const bool again = g_last_to_begin.load(std::memory_order_relaxed) == this;
    if (!again) g_last_to_begin.store(this, std::memory_order_relaxed);
    spins_after_.store(again && gap < kSpinWindowNs, std::memory_order_relaxed);
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
  bool spins_after_burst() const noexcept {
    return spins_after_.load(std::memory_order_relaxed) &&
           g_last_to_begin.load(std::memory_order_relaxed) == this &&
           clock_ns() - ended_ns_.load(std::memory_order_relaxed) < kSpinWindowNs;
  }
  bool may_spin() const noexcept {
    return spin_.count() > 0 && (in_burst() || spins_after_burst());
  }

  // Says that a slot is open, and wakes a parked worker, or all, if fewer than `helpers` are idle.
  void wake(std::size_t helpers) noexcept {
    ++posted_;
    // Whoever parks counts itself before it looks at posted_ for the last time.
    const std::size_t parked = parked_;
    if (parked == 0) return;
    std::size_t busy = 0;
    for (const Slot& slot : slots_) busy += slot.helpers();
    const std::size_t idle = workers_.size() - std::min(workers_.size(), parked + busy);
    if (idle >= helpers) return;
    { const std::lock_guard<std::mutex> lock(mutex_); }  // or they have looked, but do not wait yet
    if (helpers - idle > 1)
      wake_.notify_all();
    else
      wake_.notify_one();
  }

  // Until no worker is inside a job that is closed.
  void await(const Slot& slot) noexcept {
    const auto done = [&] { return slot.is_done(); };
    if (done() || (spin_.count() > 0 && in_burst() && spin_until(spin_, done))) return;
    std::unique_lock<std::mutex> lock(mutex_);
    ++awaiting_;
    done_.wait(lock, done);
    --awaiting_;
  }

  void serve(std::size_t thread) noexcept {
    while (!stop_) {
      const std::size_t seen = posted_;
      for (Slot& slot : slots_) help(slot, thread);
      if (!await_awake(seen)) park(seen);
    }
  }

  void help(Slot& slot, std::size_t thread) noexcept {
    if (!slot.is_open()) return;
    if (slot.join()) slot.work(thread);
    // Whoever awaits counts itself before it looks at the slot for the last time.
    if (!slot.leave() || awaiting_ == 0) return;
    { const std::lock_guard<std::mutex> lock(mutex_); }
    done_.notify_all();
  }

  // Whether something was posted since posted_ was `seen`.
  bool await_awake(std::size_t seen) noexcept {
    const auto posted = [&] { return posted_.load(std::memory_order_acquire) != seen; };
    if (may_spin()) spin_until(spin_, [&] { return posted() || !may_spin(); });
    return posted();
  }

  void park(std::size_t seen) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    ++parked_;
    wake_.wait(lock, [&] { return stop_ || posted_ != seen; });
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
  std::array<Slot, kSlots> slots_;
  alignas(kCacheLine) std::atomic<std::size_t> posted_{0};  // raised by each job, and to stop
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> parked_{0};          // workers
  std::atomic<std::size_t> awaiting_{0};        // callers
  std::atomic<int> bursts_{0};                  // that are going on
  std::atomic<std::int64_t> ended_ns_{kNever};  // when the last one did
  std::atomic<bool> spins_after_{false};        // it had followed at once on the one before
};

}  // namespace

UnyieldingWait::UnyieldingWait() noexcept {
  ++g_unyielding_waits;
}

UnyieldingWait::~UnyieldingWait() {
  --g_unyielding_waits;
}

ThreadPool::~ThreadPool() = default;

Result<std::unique_ptr<ThreadPool>> create_thread_pool(int threads, int spin_us) noexcept {
  return guarded([&]() -> Result<std::unique_ptr<ThreadPool>> {
    if (threads < 0 || threads > kMaxThreads)
      return invalid_argument("threads = {}: expected 0 (one per physical core) to {}", threads,
                              kMaxThreads);
    if (spin_us < 0 || spin_us > kMostSpinMicroseconds)
      return invalid_argument("spin_us = {}: expected 0 (no busy-waiting) to {}", spin_us,
                              kMostSpinMicroseconds);
    if (threads == 0) threads = std::min(physical_cores(), kMaxThreads);
    auto pool = std::make_unique<ParkingThreadPool>(threads, spin_us);
    SN_RETURN_IF_ERROR(pool->start());
    return std::unique_ptr<ThreadPool>(std::move(pool));
  });
}

}  // namespace softneuro
