// softneuro_routine_bench: times every routine that applies to a layer, with all values of its
// parameters, in interleaved rounds.
//
//   softneuro_routine_bench [--threads N] [--seconds S] [--routines TEXT] [--json] [--best]
//                           [--net NAME]… [SHAPE]…
//
// SHAPE as in bench/routines/shapes.h; --routines keeps descriptors that contain TEXT; --best
// prints one line per routine, that of its best parameters.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/routine/kernel_run.h"
#include "core/routine/registry.h"
#include "routines/builtin.h"
#include "shapes.h"

namespace softneuro::bench {
namespace {

struct Options {
  int threads = 1;
  double seconds = 0.5;  // per layer
  std::string routines;
  bool json = false, best = false;
  std::vector<std::string_view> shapes;
};

// A routine with fixed parameters, ready to run on memory of its own.
struct Candidate {
  const Routine* routine = nullptr;
  RoutineParams params;
  std::unique_ptr<Kernel> kernel;
  KernelRun run;
  std::vector<double> microseconds = {};
};

Result<Tensor> input_of(const TensorSpec& spec) {
  if (!spec.present() || !spec.value.empty()) return spec.value;
  SN_ASSIGN_OR_RETURN(Tensor tensor,
                      Tensor::create(spec.type, spec.shape, default_allocator(), spec.layout));
  std::memset(tensor.mutable_data(), 0, tensor.bytes());
  if (spec.type == DataType::float32) {
    auto* const data = static_cast<float*>(tensor.mutable_data());
    for (std::size_t i = 0; i < tensor.bytes() / 4; ++i)
      data[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  }
  return tensor;
}

Result<Candidate> make_candidate(const Implementation& implementation,
                                 const RoutineParams& params) {
  const Problem& problem = implementation.whole_problem();
  Candidate c;
  c.routine = &implementation.routine();
  c.params = params;
  SN_ASSIGN_OR_RETURN(const PackedWeights packed,
                      implementation.pack_weights(params, default_allocator()));
  SN_ASSIGN_OR_RETURN(c.kernel, implementation.create(params, packed));
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : problem.inputs) {
    SN_ASSIGN_OR_RETURN(inputs.emplace_back(), input_of(spec));
  }
  SN_ASSIGN_OR_RETURN(c.run, KernelRun::create(*c.kernel, problem, nullptr, std::move(inputs),
                                               default_allocator()));
  if (c.kernel->in_place_input() >= 0) c.run.work_in_place();  // as a plan would
  return c;
}

std::vector<Candidate> candidates_of(const Registry& registry, const Problem& problem,
                                     const Options& options) {
  constexpr std::size_t kMostParams = 64;
  std::vector<Candidate> result;
  for (const Routine* routine : registry.routines(problem.type->name)) {
    const std::string name = routine->descriptor().str();
    if (name.find(options.routines) == name.npos || name == "cpu/naive") continue;
    for (const FormatTuple& formats : routine->formats(problem)) {
      const auto implementation = RoutineContext(registry, options.threads)
                                      .implement(*routine, with_formats(problem, formats));
      if (!implementation.ok()) continue;
      std::vector<RoutineParams> params = (*implementation)->param_space().list(kMostParams);
      if (params.empty()) params.push_back((*implementation)->default_params());
      for (const RoutineParams& p : params) {
        Result<Candidate> candidate = make_candidate(**implementation, p);
        if (candidate.ok())
          result.push_back(std::move(*candidate));
        else
          std::fprintf(stderr, "%s: %s\n", name.c_str(), candidate.status().message().c_str());
      }
    }
  }
  return result;
}

double microseconds_of(Candidate& c, ThreadPool& pool, int times) {
  using Clock = std::chrono::steady_clock;
  const PoolBurst burst(pool);  // as inside of a session's run
  const auto begin = Clock::now();
  for (int i = 0; i < times; ++i)
    if (const Status status = c.run.start(pool); !status.ok())
      std::fprintf(stderr, "%s: %s\n", c.routine->descriptor().str().c_str(),
                   status.message().c_str());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / times;
}

// Rounds in which each candidate has its turn, until the time is over. In a turn the first run
// fills the cache and is not counted.
void measure(std::vector<Candidate>& candidates, ThreadPool& pool, double seconds) {
  constexpr double kTurn = 300;  // µs: well above the clock's noise
  constexpr std::size_t kLeastRounds = 7;
  std::vector<int> times;
  for (Candidate& c : candidates) {
    microseconds_of(c, pool, 1);
    const double once = microseconds_of(c, pool, 1);
    times.push_back(std::clamp(static_cast<int>(kTurn / once), 1, 1000));
  }
  double spent = 0;
  for (std::size_t round = 0; round < kLeastRounds || spent < seconds * 1e6; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      microseconds_of(candidates[i], pool, 1);
      const double each = microseconds_of(candidates[i], pool, times[i]);
      candidates[i].microseconds.push_back(each);
      spent += each * (times[i] + 1);
    }
  for (Candidate& c : candidates) std::sort(c.microseconds.begin(), c.microseconds.end());
}

double operations_of(const Problem& problem) {
  const Shape& w = problem.inputs[1].shape;
  double depth = 1;
  if (problem.type->name == "matmul" || problem.type->name == "dense")
    depth = static_cast<double>(problem.inputs[0].shape[problem.inputs[0].shape.rank() - 1]);
  else
    depth = static_cast<double>(w.elements(1, w.rank()));
  return 2 * depth * static_cast<double>(problem.outputs[0].shape.elements());
}

void print(std::string_view shape, const Candidate& c, double operations, const Options& options) {
  const double least = c.microseconds.front();
  const double median = c.microseconds[c.microseconds.size() / 2];
  const std::string name = c.routine->descriptor().str();
  if (options.json)
    fmt::print(
        "{{\"layer\": \"{}\", \"routine\": \"{}\", \"params\": \"{}\", \"threads\": {}, "
        "\"min_us\": {:.3f}, \"median_us\": {:.3f}, \"gflops\": {:.2f}}}\n",
        shape, name, c.params.str(), options.threads, least, median, operations / least * 1e-3);
  else
    fmt::print("{:38} {:30} {:28} {:10.1f} {:10.1f} {:8.1f}\n", shape, name, c.params.str(), least,
               median, operations / least * 1e-3);
}

Status bench_shape(const Registry& registry, std::string_view shape, ThreadPool& pool,
                   const Options& options) {
  SN_ASSIGN_OR_RETURN(Problem problem, parse_problem(registry, shape));
  std::vector<Candidate> candidates = candidates_of(registry, problem, options);
  measure(candidates, pool, options.seconds);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.microseconds.front() < b.microseconds.front();
  });
  std::vector<const Routine*> seen;
  for (const Candidate& c : candidates) {
    const bool again = std::find(seen.begin(), seen.end(), c.routine) != seen.end();
    if (again && options.best) continue;
    seen.push_back(c.routine);
    print(shape, c, operations_of(problem), options);
  }
  std::fflush(stdout);
  return {};
}

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : ""; };
    if (name == "--threads") {
      options.threads = std::atoi(value());
    } else if (name == "--seconds") {
      options.seconds = std::atof(value());
    } else if (name == "--routines") {
      options.routines = value();
    } else if (name == "--json") {
      options.json = true;
    } else if (name == "--best") {
      options.best = true;
    } else if (name == "--net") {
      const std::string_view net = value();
      const std::size_t before = options.shapes.size();
      for (const NamedShapes& known : named_shapes())
        if (known.net == net || net == "all")
          options.shapes.insert(options.shapes.end(), known.shapes.begin(), known.shapes.end());
      if (options.shapes.size() == before) return false;
    } else if (name.substr(0, 2) == "--") {
      return false;
    } else {
      options.shapes.push_back(name);
    }
  }
  return options.threads >= 1 && !options.shapes.empty();
}

int run(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    std::string nets;
    for (const NamedShapes& known : named_shapes()) nets += fmt::format(" {}", known.net);
    fmt::print(stderr,
               "usage: {} [--threads N] [--seconds S] [--routines TEXT] [--json] [--best] "
               "[--net NAME]... [SHAPE]...\nnets: all{}\nshapes: bench/routines/shapes.h\n",
               argv[0], nets);
    return 2;
  }
  const auto registry = make_builtin_registry();
  const auto pool = create_thread_pool(options.threads);
  if (!registry.ok() || !pool.ok()) {
    fmt::print(stderr, "{}\n", (registry.ok() ? pool.status() : registry.status()).message());
    return 1;
  }
  if (!options.json)
    fmt::print("{:38} {:30} {:28} {:>10} {:>10} {:>8}\n", "layer", "routine", "parameters",
               "min us", "median us", "GFLOP/s");
  for (const std::string_view shape : options.shapes)
    if (const Status status = bench_shape(*registry, shape, **pool, options); !status.ok()) {
      fmt::print(stderr, "{}: {}\n", shape, status.message());
      return 1;
    }
  return 0;
}

}  // namespace
}  // namespace softneuro::bench

int main(int argc, char** argv) {
  return softneuro::bench::run(argc, argv);
}
