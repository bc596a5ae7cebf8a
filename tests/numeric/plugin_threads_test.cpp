// The cap on threads holds for the routines of library plugins: docs/internals/threads.md.
#include <dirent.h>
#include <dlfcn.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "numeric/check_routine.h"
#include "support/new_threads.h"

namespace softneuro::test {
namespace {

int threads_of_process() {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return -1;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// The number of threads once it is at most `most`, or else after ten seconds. The kernel lists a
// thread for a while after `join` has returned: it wakes the joiner before it takes the task away.
int settled_threads(int most) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int count = threads_of_process();
  for (; count > most && std::chrono::steady_clock::now() < end; count = threads_of_process())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return count;
}

template <class F>
F open_mp(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

// The largest number of threads while it lives, its own left out.
class ThreadWatch {
 public:
  ThreadWatch() : watcher_([this] { watch(); }) {}
  ~ThreadWatch() { stop(); }
  int stop() {
    done_ = true;
    if (watcher_.joinable()) watcher_.join();
    return most_ - 1;
  }

 private:
  void watch() {
    while (!done_) {
      most_ = std::max(most_, threads_of_process());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  int most_ = 0;
  std::atomic<bool> done_{false};
  std::thread watcher_;
};

// Layers that are worth cutting, one for each layer type that plugins have routines for.
void add_layers(ProblemSet& set) {
  set.add("conv2")
      .input({1, 64, 28, 28})
      .constant({64, 64, 3, 3}, normal(0.04))
      .constant({64})
      .param("pads", {1, 1, 1, 1});
  set.add("dense").input({32, 256}).constant({256, 256}, normal(0.06)).constant({256});
  set.add("matmul").input({2, 64, 48}).input({2, 48, 64});
  set.add("einsum").param("equation", "bij,bkj->bik").input({2, 64, 48}).input({2, 64, 48});
  set.add("det").input({64, 12, 12});
  set.add("avg_pool2").input({2, 64, 28, 28}).param("kernel", {2, 2}).param("strides", {2, 2});
  set.add("batch_norm")
      .input({2, 64, 28, 28})
      .constant({64})
      .constant({64})
      .constant({64})
      .constant({64}, uniform(0.5, 2));
  set.add("softmax").input({64, 512});
  set.add("reduce").input({2, 64, 28, 28}).value({2, 3}).param("op", "mean");
  set.add("resize")
      .input({2, 32, 14, 14})
      .no_input()
      .no_input()
      .value({2, 32, 28, 28})
      .param("mode", "linear");
  set.add("binary").input({2, 64, 28, 28}).input({2, 64, 28, 28}).param("op", "add");
  set.add("unary").input({2, 64, 28, 28}).param("op", "abs");
  using Cell = std::pair<const char*, std::int64_t>;
  for (const auto& [type, gates] : {Cell{"lstm", 4}, Cell{"gru", 3}, Cell{"rnn", 1}})
    set.add(type)
        .input({6, 32, 48})
        .constant({2, gates * 64, 48}, normal(0.1))
        .constant({2, gates * 64, 64}, normal(0.1))
        .constant({2, 2 * gates * 64})
        .param("direction", "bidirectional");
}

}  // namespace

TEST_CASE("eight sessions of library routines keep to the threads of their net", "[plugin]") {
  constexpr int kSessions = 8, kCap = 2;
  const auto set_team = open_mp<void (*)(int)>("omp_set_num_threads");
  const auto team = open_mp<int (*)()>("omp_get_max_threads");
  ProblemSet set;
  add_layers(set);
  struct Work {
    const Routine* routine;
    PreparedCase prepared;
    RoutineParams params;
  };
  std::vector<Work> work;
  for (const Case& description : set.cases()) {
    const PreparedCase prepared = prepare(all_routines(), description, test_seed()).value();
    for (const Routine* routine : all_routines().routines(description.layer_type)) {
      const RoutineDescriptor& descriptor = routine->descriptor();
      if (routine->facts().library.empty() || descriptor.type != DataType::float32) continue;
      auto adapted = in_format(prepared, descriptor.type, descriptor.layout);
      if (!adapted) continue;
      adapted->threads = kCap;
      const auto implementation = adapted->implement(*routine);
      if (!implementation.ok()) continue;
      for (const RoutineParams& params : (*implementation)->param_space().list(8))
        work.push_back({routine, *adapted, params});
    }
  }
  if (work.empty()) {
    WARN("no library plugin is built: nothing to watch");
    return;
  }

  const NewThreads made;
  const auto pool = create_thread_pool(kCap).value();
  const int before = threads_of_process();
  ThreadWatch watch;
  std::atomic<int> failures{0}, lost_settings{0};
  std::vector<std::thread> sessions;
  sessions.reserve(kSessions);
  for (int i = 0; i < kSessions; ++i)
    sessions.emplace_back([&] {
      // Where nothing held it back, a team of this size would be made.
      if (set_team != nullptr) set_team(4);
      for (int repeat = 0; repeat < 3; ++repeat)
        for (const auto& [routine, prepared, params] : work) {
          const RunResult run = run_routine(*routine, prepared, *pool, params);
          failures += !run.status.ok() || !run.defect.empty();
        }
      if (team != nullptr) lost_settings += team() != 4;
    });
  for (std::thread& session : sessions) session.join();
  CHECK(watch.stop() <= before + kSessions);
  CHECK(failures == 0);
  CHECK(lost_settings == 0);
  CHECK(settled_threads(before) <= before);
  CHECK(made.stay_asleep());
}

}  // namespace softneuro::test
