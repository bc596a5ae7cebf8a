// Unit profiles: candidates alone, as they are inside of a net, whatever load other processes add.
#include "profiler/select/unit_profile.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "profiler/tune/tuner.h"
#include "small_net.h"
#include "support/temporary_folder.h"
#include "timed_cumsum.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

std::shared_ptr<const Graph> finished(SmallNetBuilder& b, TensorId output) {
  b.graph.outputs = {output};
  return test::finished(std::move(b.graph));
}

std::shared_ptr<Runtime> one_thread() {
  NetOptions options;
  options.threads = 1;
  return make_runtime(options).value();
}

std::vector<LayerCandidates> candidates_of(const std::shared_ptr<Runtime>& core,
                                           const NetProblems& problems) {
  const std::vector<std::string> float32 = {"cpu:float32"};
  return list_candidates(core->registry(), problems, {float32}).value();
}

std::span<const std::byte> bytes_of(const std::vector<int>& numbers) {
  return std::as_bytes(std::span(numbers));
}

// cumsum, by routines whose times are known. The best of them comes last but one.
class TimedProblem {
 public:
  static constexpr std::int64_t kUs[] = {250, 300, 200, 600};

  TimedProblem() {
    auto& registry = const_cast<Registry&>(core->registry());
    const Routine& naive = *registry.find("cumsum", "cpu/naive");
    // In the order of their ranks.
    for (const auto& [name, rank] : {std::pair("cpu/fast", 400), std::pair("cpu/fair", 300),
                                     std::pair("cpu/best", 200), std::pair("cpu/last", 150)}) {
      auto routine = std::make_unique<TimedCumsum>(name, naive, rank);
      routines_.push_back(routine.get());
      REQUIRE(registry.add(std::move(routine)).ok());
    }
    SmallNetBuilder b;
    const TensorId x = b.input("x", DynamicShape(Shape{1, 64}));
    Tensor axis = Tensor::create(DataType::int64, Shape{1}).value();
    axis.mutable_values<std::int64_t>()[0] = 1;
    graph_ =
        finished(b, b.layer("cumsum", "sum", {x, b.graph.add_constant("axis", std::move(axis))}));
    const Shape shapes[] = {Shape{1, 64}};
    problems_ = problems_of(core, graph_, shapes).value();
  }

  std::vector<Candidate> candidates() const {
    auto layers = candidates_of(core, problems_);
    REQUIRE(layers.size() == 1);
    REQUIRE(layers[0].candidates.size() == std::size(kUs));
    REQUIRE(layers[0].candidates[0].str() == "cpu/fast");
    return std::move(layers[0].candidates);
  }
  // The machine takes so many times as long from now on.
  void slow_down(std::int64_t times) {
    for (std::size_t i = 0; i < routines_.size(); ++i)
      routines_[i]->take_from_now_on(times * kUs[i]);
  }
  const Problem& problem() const { return problems_.layers[0].problem; }

  const std::shared_ptr<Runtime> core = one_thread();

 private:
  std::vector<TimedCumsum*> routines_;
  std::shared_ptr<const Graph> graph_;
  NetProblems problems_;
};

}  // namespace

TEST_CASE("unit profile: times are on one scale, whatever candidate the machine is slow for") {
  const SettableClock clock;
  TimedProblem timed;
  std::vector<Candidate> candidates = timed.candidates();
  ProfileCache cache;
  const TuneBudget budget;
  PoolBarrier barrier(timed.core->pool());
  ColdCaches caches(timed.core->pool());
  UnitProfiler profiler(*timed.core, cache, budget, barrier, caches, false);
  const std::string when = GENERATE("cpu/fast", "cpu/fair", "cpu/best", "cpu/last");
  profiler.on_candidate = [&](const Candidate& candidate, double) {
    timed.slow_down(candidate.str() == when ? 5 : 1);
  };
  REQUIRE(profiler.profile(timed.problem(), candidates).ok());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    INFO(candidate.str());
    CHECK(candidate.unit_us == Approx(static_cast<double>(TimedProblem::kUs[i])).epsilon(0.01));
    CHECK(candidate.pruned == (candidate.str() == "cpu/last"));
    const Profile* row = cache.find(candidate.key);
    REQUIRE(row != nullptr);
    CHECK(row->time_us == candidate.unit_us);
  }
}

TEST_CASE("unit profile: what the cache does not know is put on the scale of what it does") {
  const SettableClock clock;
  TimedProblem timed;
  std::vector<Candidate> candidates = timed.candidates();
  ProfileCache cache;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    cache.put(candidates[i].key, {.time_us = static_cast<double>(TimedProblem::kUs[i])});
  const TuneBudget budget;
  PoolBarrier barrier(timed.core->pool());
  ColdCaches caches(timed.core->pool());
  UnitProfiler profiler(*timed.core, cache, budget, barrier, caches, false);
  timed.slow_down(3);
  REQUIRE(profiler.profile(timed.problem(), candidates).ok());
  CHECK(profiler.counts().measured == 2);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    INFO(candidates[i].str());
    CHECK(candidates[i].unit_us == Approx(static_cast<double>(TimedProblem::kUs[i])).epsilon(0.01));
  }
}

TEST_CASE("unit profile: times at another cache residency are other rows") {
  const std::shared_ptr<Runtime> core = one_thread();
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{4, 256}));
  const auto graph = finished(
      b, b.layer("dense", "fc", {x, b.weights("fc.w", {256, 128}), b.weights("fc.b", {128})}));
  const Shape shapes[] = {Shape{4, 256}};
  const NetProblems problems = problems_of(core, graph, shapes).value();
  ProfileCache cache;
  const TuneBudget budget;
  const auto measured = [&](CacheResidency place) {
    PoolBarrier barrier(core->pool());
    ColdCaches caches(core->pool());
    caches.set_residency(place);
    UnitProfiler profiler(*core, cache, budget, barrier, caches, false);
    auto layers = candidates_of(core, problems);
    REQUIRE(profiler.profile(layers[0].layer.problem, layers[0].candidates).ok());
    for (const Candidate& candidate : layers[0].candidates) CHECK_FALSE(candidate.wrong);
    return profiler.counts().measured;
  };
  CHECK(measured(CacheResidency::own_cache) > 0);
  CHECK(measured(CacheResidency::own_cache) == 0);
  CHECK(measured(CacheResidency::shared_cache) > 0);
  CHECK(measured(CacheResidency::shared_cache) == 0);
  if (!can_flush()) {
    WARN("this processor cannot flush its caches");
    return;
  }
  CHECK(measured(CacheResidency::memory) > 0);
  CHECK(measured(CacheResidency::memory) == 0);
}

TEST_CASE("cold caches: no byte changes, for any number of threads") {
  const int threads = GENERATE(1, 3);
  NetOptions options;
  options.threads = threads;
  const std::shared_ptr<Runtime> core = make_runtime(options).value();
  ColdCaches caches(core->pool());
  CHECK(caches.residency() == CacheResidency::own_cache);
  std::vector<int> weights(10007), input(1003);
  std::iota(weights.begin(), weights.end(), 1);
  std::iota(input.begin(), input.end(), 5);
  const std::vector<int> weights_before = weights, input_before = input;
  for (const CacheResidency place :
       {CacheResidency::own_cache, CacheResidency::shared_cache, CacheResidency::memory}) {
    caches.set_residency(place);
    CHECK((caches.residency() == place || !can_flush()));
    const std::span<const std::byte> all[] = {bytes_of(weights).subspan(3), {}};
    const std::span<const std::byte> inputs[] = {bytes_of(input), {}};
    const PoolBurst burst(core->pool());
    caches.prepare(all, inputs);
    caches.prepare({}, {});
  }
  CHECK(weights == weights_before);
  CHECK(input == input_before);
}

TEST_CASE("cold caches: weights of any size are where they fit, small ones nearest") {
  const std::shared_ptr<Runtime> core = one_thread();
  ColdCaches caches(core->pool());
  const auto place_of = [&](std::size_t bytes) {
    caches.set_residency_of(bytes);
    return caches.residency();
  };
  CHECK(place_of(0) == CacheResidency::own_cache);
  CHECK(place_of(std::size_t{1} << 40) ==
        (can_flush() ? CacheResidency::memory : CacheResidency::shared_cache));
  auto last = CacheResidency::own_cache;
  for (int bits = 10; bits < 40; ++bits) {
    const CacheResidency place = place_of(std::size_t{1} << bits);
    CHECK(place >= last);
    last = place;
  }
}

TEST_CASE("tune: unit times of a net with many weights are of weights that are not in the caches") {
  const TemporaryFolder folder;
  const std::shared_ptr<Runtime> core = one_thread();
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 2048}));
  // 16 MiB: more than the caches of one processor's own.
  const auto graph = finished(
      b, b.layer("dense", "fc", {x, b.weights("fc.w", {2048, 2048}), b.weights("fc.b", {2048})}));
  TuneOptions options;
  options.schemas = {"cpu:float32"};
  options.cache = folder.path().string();
  TuneJob job;
  job.core = core;
  job.graph = job.model = graph;
  job.is_model = true;
  job.shapes = {Shape{1, 2048}};
  job.inputs = {Tensor::create(DataType::float32, job.shapes[0]).value()};
  std::ranges::fill(job.inputs[0].mutable_values<float>(), 1.0f);
  job.options = &options;
  const Result<TuneResult> first = tune(job);
  INFO(first.status().message());
  REQUIRE(first.ok());
  std::size_t units = 0;
  ProfileCache cache;
  cache.open(options.cache, machine_name(), 1, nullptr);
  for (const auto& [key, row] : cache.rows())
    units += key.find("|weights in ") != std::string::npos;
  CHECK(units > 1);
  CHECK(tune(job)->report.measured == 0);
}
