// Unit profiles: times of candidates alone, on one scale, however fast the machine is meanwhile.
#include "profiler/select/unit_profile.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "net/make_runtime.h"
#include "small_net.h"
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

std::vector<LayerCandidates> candidates_of(const std::shared_ptr<Runtime>& runtime,
                                           const NetProblems& problems) {
  const std::vector<std::string> float32 = {"cpu:float32"};
  return list_candidates(runtime->routine_context(), problems, {float32}).value();
}

// cumsum, by routines whose times are known. The best of them comes last but one.
class TimedProblem {
 public:
  static constexpr std::int64_t kUs[] = {250, 300, 200, 600};

  TimedProblem() {
    auto& registry = const_cast<Registry&>(runtime->registry());
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
    problems_ = infer_problems(runtime, graph_, shapes).value();
  }

  std::vector<Candidate> candidates() const {
    auto layers = candidates_of(runtime, problems_);
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

  const std::shared_ptr<Runtime> runtime = one_thread();

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
  PoolBarrier barrier(timed.runtime->pool());
  UnitProfiler profiler(*timed.runtime, cache, budget, barrier, false);
  const std::string when = GENERATE("cpu/fast", "cpu/fair", "cpu/best", "cpu/last");
  profiler.on_candidate = [&](const Candidate& candidate, double) {
    timed.slow_down(candidate.str() == when ? 5 : 1);
  };
  REQUIRE(profiler.profile(timed.problem(), candidates).ok());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    INFO(candidate.str());
    CHECK(candidate.isolated_us == Approx(static_cast<double>(TimedProblem::kUs[i])).epsilon(0.01));
    CHECK(candidate.pruned == (candidate.str() == "cpu/last"));
    const Profile* row = cache.find(candidate.key);
    REQUIRE(row != nullptr);
    CHECK(row->time_us == candidate.isolated_us);
  }
}

TEST_CASE("unit profile: what the cache does not know is put on the scale of what it does") {
  const SettableClock clock;
  TimedProblem timed;
  std::vector<Candidate> candidates = timed.candidates();
  ProfileCache cache;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    cache.put(candidates[i].key, Profile{.time_us = static_cast<double>(TimedProblem::kUs[i])});
  const TuneBudget budget;
  PoolBarrier barrier(timed.runtime->pool());
  UnitProfiler profiler(*timed.runtime, cache, budget, barrier, false);
  timed.slow_down(3);
  REQUIRE(profiler.profile(timed.problem(), candidates).ok());
  CHECK(profiler.counts().measured == 2);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    INFO(candidates[i].str());
    CHECK(candidates[i].isolated_us ==
          Approx(static_cast<double>(TimedProblem::kUs[i])).epsilon(0.01));
  }
}
