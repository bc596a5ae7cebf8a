// The pool alone, and nets with more threads than this machine has.
//
//   softneuro_threads_bench                          one run() of the pool, by threads and tasks
//   softneuro_threads_bench [--layers T] MODEL...    simulated milliseconds of nets, by threads;
//                                                    with T threads, by layer
//
// Nets are untuned models, or .dnn files.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "softneuro/softneuro.h"
#include "threads/simulated_pool.h"

namespace softneuro::bench {
namespace {

// Of a run() with nothing to do: a quarter of a µs for each of 16 threads on 16 processors.
constexpr double kCallNsPerThread = 250;
constexpr int kThreads[] = {1, 2, 4, 8, 16, 32, 64};
constexpr int kRuns = 15;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure_pool() {
  constexpr int kTogether = 20, kBursts = 200;
  const int most = static_cast<int>(std::thread::hardware_concurrency());
  std::printf("threads  tasks  µs per task  µs per run()\n");
  for (int threads = 2; threads <= most; threads *= 2)
    for (const int task_us : {0, 2, 10})
      for (const int count : {threads, 4 * threads}) {
        const auto pool = create_thread_pool(threads).value();
        std::vector<double> us;
        for (int burst = 0; burst < kBursts; ++burst) {
          const PoolBurst awake(*pool);
          const std::int64_t begin = clock_ns();
          for (int i = 0; i < kTogether; ++i)
            parallel_for(*pool, count, [&](std::int64_t) {
              const std::int64_t end = clock_ns() + 1000 * task_us;
              while (task_us > 0 && clock_ns() < end) continue;
            });
          us.push_back(1e-3 * static_cast<double>(clock_ns() - begin) / kTogether);
        }
        std::printf("%7d %6d %12d %13.2f\n", threads, count, task_us, median(std::move(us)));
      }
}

Result<Session> open(const std::string& file, ThreadPool& pool) {
  NetOptions options;
  options.thread_pool = &pool;
  SN_ASSIGN_OR_RETURN(const Net net, file.ends_with(".dnn") ? Net::load(file, options)
                                                            : Net::import(file, options));
  NamedShapes shapes;
  for (const TensorInfo& input : net.inputs())
    for (const Dim& dim : input.shape.dims())
      shapes[input.name].push_back(dim.known() ? dim.value : 1);
  SN_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, net.plan(shapes));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  for (const TensorInfo& input : net.inputs()) {
    SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(input.type, shapes[input.name]));
    std::memset(tensor.mutable_data(), 0, tensor.bytes());
    if (input.type == DataType::float32) std::ranges::fill(tensor.mutable_values<float>(), 0.5f);
    SN_RETURN_IF_ERROR(session.set_input(input.name, tensor));
  }
  return session;
}

struct Timed {
  double ms = 0;
  std::size_t calls = 0;                     // of run()
  std::map<std::string, double> layer_us{};  // where asked for
};

Result<Timed> time_net(const std::string& file, int threads, bool by_layer) {
  SimulatedPool pool(threads, kCallNsPerThread * threads);
  SN_ASSIGN_OR_RETURN(Session session, open(file, pool));
  std::map<std::string, std::vector<double>> layers;
  RunOptions options;
  if (by_layer)
    options.trace = [&](const StepTrace& step) {
      layers[std::string(step.layer) + "  " + step.routine].push_back(
          1e-3 * static_cast<double>(step.end_ns - step.begin_ns));
    };
  std::vector<double> ms;
  Timed timed;
  for (int run = 0; run < kRuns; ++run) {
    const std::size_t before = pool.calls();
    const std::int64_t begin = clock_ns();
    SN_RETURN_IF_ERROR(session.run(options));
    ms.push_back(1e-6 * static_cast<double>(clock_ns() - begin));
    timed.calls = pool.calls() - before;
  }
  // The least: a thread that the machine stopped within a task is no slow task.
  timed.ms = std::ranges::min(ms);
  for (const auto& [layer, us] : layers) timed.layer_us[layer] = std::ranges::min(us);
  return timed;
}

Status print_layers(const std::string& file, int threads) {
  SN_ASSIGN_OR_RETURN(const Timed one, time_net(file, 1, true));
  SN_ASSIGN_OR_RETURN(const Timed many, time_net(file, threads, true));
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [layer, us] : many.layer_us) order.emplace_back(us, layer);
  std::ranges::sort(order, std::greater<>());
  std::printf("%s: %.2f ms by 1 thread, %.2f ms by %d\n", file.c_str(), one.ms, many.ms, threads);
  for (const auto& [us, layer] : order) {
    const auto alone = one.layer_us.find(layer);
    std::printf("%9.1f µs %6.1fx  %s\n", us, alone == one.layer_us.end() ? 0.0 : alone->second / us,
                layer.c_str());
  }
  return {};
}

Status print_net(const std::string& file) {
  std::printf("%-32s", file.substr(file.rfind('/') + 1).c_str());
  std::size_t calls = 0;
  for (const int threads : kThreads) {
    SN_ASSIGN_OR_RETURN(const Timed timed, time_net(file, threads, false));
    std::printf(" %8.2f", timed.ms);
    std::fflush(stdout);
    calls = timed.calls;
  }
  std::printf(" %6zu\n", calls);
  return {};
}

int run(int argc, char** argv) {
  if (argc == 1) {
    measure_pool();
    return 0;
  }
  int threads = 0, first = 1;
  if (argv[1][0] == '-') {
    const bool known = argc > 3 && std::strcmp(argv[1], "--layers") == 0;
    threads = known ? std::atoi(argv[2]) : 0;
    first = 3;
    if (threads <= 0) {
      std::fprintf(stderr, "usage: softneuro_threads_bench [--layers THREADS] [MODEL...]\n");
      return 2;
    }
  }
  if (threads == 0) {
    std::printf("%-32s", "net, ms by threads");
    for (const int each : kThreads) std::printf(" %8d", each);
    std::printf("  run()\n");
  }
  for (int i = first; i < argc; ++i)
    if (const Status status = threads > 0 ? print_layers(argv[i], threads) : print_net(argv[i]);
        !status.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], status.message().c_str());
      return 1;
    }
  return 0;
}

}  // namespace
}  // namespace softneuro::bench

int main(int argc, char** argv) try {
  return softneuro::bench::run(argc, argv);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
