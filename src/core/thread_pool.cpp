// The library's own thread pool: workers park on a condition variable, callers work along.
//
// Jobs live on their callers' stacks in an intrusive list, so run() allocates nothing. A worker
// that is free helps the job at the head of the list; indices are claimed with one atomic
// addition. No lock is held while a task runs.
#include "softneuro/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/error.h"

namespace softneuro {
namespace {

constexpr int kMaxThreads = 1024;

int available_processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
  return 1;
}

struct Job {
  ThreadPool::Task task;
  void* context;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  int helpers = 0;  // workers inside this job; guarded by the pool's mutex
  Job* later = nullptr;
};

// True while this thread is inside a task: nested calls run in place, which cannot deadlock and
// keeps the number of threads at the cap.
thread_local bool t_inside_task = false;

void work(Job& job) noexcept {
  const bool outer = t_inside_task;
  t_inside_task = true;
  for (std::size_t i = job.next.fetch_add(1, std::memory_order_relaxed); i < job.count;
       i = job.next.fetch_add(1, std::memory_order_relaxed))
    job.task(job.context, i);
  t_inside_task = outer;
}

class ParkingThreadPool final : public ThreadPool {
 public:
  explicit ParkingThreadPool(int threads) : threads_(threads), owner_(getpid()) {}

  ~ParkingThreadPool() override {
    if (getpid() != owner_) {  // a fork()ed child: the workers do not exist here
      for (std::thread& worker : workers_) worker.detach();
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Status start() {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) {
#if defined(__cpp_exceptions)
      try {
        workers_.emplace_back([this] { serve(); });
      } catch (const std::exception& e) {
        return make_error(StatusCode::out_of_memory, "cannot start thread {} of {}: {}", i + 1,
                          threads_, e.what());
      }
#else
      workers_.emplace_back([this] { serve(); });
#endif
    }
    return {};
  }

  int concurrency() const noexcept override {
    return threads_;
  }

  void run(std::size_t count, Task task, void* context) noexcept override {
    if (count == 0) return;
    Job job{task, context, count, {}, 0, nullptr};
    if (count == 1 || workers_.empty() || t_inside_task || getpid() != owner_) {
      work(job);
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      *tail_ = &job;
      tail_ = &job.later;
    }
    if (count > 2)
      wake_.notify_all();
    else
      wake_.notify_one();
    work(job);
    std::unique_lock<std::mutex> lock(mutex_);
    remove(job);
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

 private:
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
      if (job->next.load(std::memory_order_relaxed) < job->count) return job;
    return nullptr;
  }

  void serve() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [&] { return stop_ || (job = open_job()) != nullptr; });
      if (stop_) return;
      ++job->helpers;
      lock.unlock();
      work(*job);
      lock.lock();
      // The caller may leave run() as soon as it sees zero: job is not touched afterwards.
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  const int threads_;
  const pid_t owner_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* head_ = nullptr;
  Job** tail_ = &head_;
  bool stop_ = false;
};

}  // namespace

ThreadPool::~ThreadPool() = default;

Result<std::unique_ptr<ThreadPool>> create_thread_pool(int threads) noexcept {
  return guarded([&]() -> Result<std::unique_ptr<ThreadPool>> {
    if (threads < 0 || threads > kMaxThreads)
      return invalid_argument("threads = {}: expected 0 (one per processor) to {}", threads,
                              kMaxThreads);
    auto pool =
        std::make_unique<ParkingThreadPool>(threads == 0 ? available_processors() : threads);
    SN_RETURN_IF_ERROR(pool->start());
    return std::unique_ptr<ThreadPool>(std::move(pool));
  });
}

}  // namespace softneuro
