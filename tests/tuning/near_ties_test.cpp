// The search inside the net: what earlier measurements got wrong by a little is put right for all
// layers at once, not for one per finalist.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <limits>

#include "core/base/machine.h"
#include "core/graph/graph_key.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "profiler/cache/profile_cache.h"
#include "profiler/measure/timer.h"
#include "profiler/select/selection.h"
#include "profiler/tune/tuner.h"
#include "small_net.h"
#include "support/temporary_folder.h"
#include "timed_cumsum.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr int kLayers = 6;

// x [rows x 64] → running sums of running sums.
std::shared_ptr<const Graph> chain(Dim rows = 1) {
  SmallNetBuilder b;
  TensorId x = b.input("x", DynamicShape({std::move(rows), Dim(64)}));
  Tensor axis = Tensor::create(DataType::int64, Shape{1}).value();
  axis.mutable_values<std::int64_t>()[0] = 1;
  const TensorId along = b.graph.add_constant("axis", std::move(axis));
  for (int l = 0; l < kLayers; ++l) x = b.layer("cumsum", "sum" + std::to_string(l), {x, along});
  b.graph.outputs = {x};
  return finished(std::move(b.graph));
}

// With two more routines of cumsum, as if a plugin brought them.
std::shared_ptr<Runtime> runtime_with_near_ties(int version = 1) {
  NetOptions options;
  options.threads = 1;
  std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  auto& registry = const_cast<Registry&>(runtime->registry());
  const Routine& naive = *registry.find("cumsum", "cpu/naive");
  REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/slow", naive, 200)).ok());
  REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/quick", naive, 50, version)).ok());
  return runtime;
}

TuneJob job_for(const std::shared_ptr<Runtime>& runtime, std::shared_ptr<const Graph> graph,
                const Shape& shape, const TuneOptions& options) {
  TuneJob job;
  job.runtime = runtime;
  job.graph = std::move(graph);
  job.shapes = {shape};
  job.model = job.graph;
  job.is_model = true;
  job.inputs = {Tensor::create(DataType::float32, shape).value()};
  std::ranges::fill(job.inputs[0].mutable_values<float>(), 1.0f);
  job.options = &options;
  job.rules = rules_of(options);
  return job;
}

// Whether the cache knows a time inside of the net for every layer's `cpu/quick`.
bool knows_net_times(const TuneJob& job) {
  ProfileCache cache;
  cache.open(job.options->cache.folder, machine_name(), 1, nullptr);
  const NetProblems problems = infer_problems(job.runtime, job.graph, job.shapes).value();
  const Routine& quick = *job.runtime->registry().find("cumsum", "cpu/quick");
  return std::ranges::all_of(problems.layers, [&](const LayerProblem& layer) {
    return cache.find(row_key(RowKind::net_time, graph_key(*job.graph), layer.layer->id,
                              profile_key(job.runtime->registry(), layer.problem, quick, {}))) !=
           nullptr;
  });
}

bool is_slow(const Candidate& candidate) {
  return candidate.str().find("slow") != std::string::npos;
}

// What a profile cache knows of each layer: the slow one's times, isolated and in the net, and
// those of the quick one, perhaps the isolated one only.
struct Remembered {
  double slow_us, quick_us;
  bool quick_in_net;
};

void remember(const TuneJob& job, const Remembered& times) {
  ProfileCache cache;
  cache.open(job.options->cache.folder, machine_name(), 1, nullptr);
  const NetProblems problems = infer_problems(job.runtime, job.graph, job.shapes).value();
  const std::vector<std::string> float32 = {"cpu:float32"};
  const auto layers = list_candidates(job.runtime->routine_context(), problems, {float32}).value();
  for (const LayerCandidates& layer : layers) {
    REQUIRE(layer.candidates.size() == 2);
    for (const Candidate& candidate : layer.candidates) {
      const double us = is_slow(candidate) ? times.slow_us : times.quick_us;
      cache.put(candidate.key, Profile{.time_us = us});
      if (is_slow(candidate) || times.quick_in_net)
        cache.put(
            row_key(RowKind::net_time, graph_key(*job.graph), layer.layer.layer->id, candidate.key),
            Profile{.time_us = us});
    }
  }
}

// With a profile cache that knows `times`.
void check_all_quick(const std::shared_ptr<Runtime>& runtime, const Remembered& times) {
  const TemporaryFolder folder;
  TuneOptions options;
  options.cache.folder = folder.path().string();
  const TuneJob job = job_for(runtime, chain(), Shape{1, 64}, options);
  remember(job, times);
  const Result<TuneResult> result = tune(job);
  INFO(result.status().message());
  REQUIRE(result.ok());
  REQUIRE(result->report.layers.size() == kLayers);
  for (const TunedLayer& layer : result->report.layers) {
    INFO(layer.layer);
    CHECK(layer.routine == "cpu/quick");
  }
}

// cumsum that is slow while its weights are not in the cache: after more runs of others than a net
// has layers its first run is cold; its second and third runs are less so.
class CachedKernel final : public Kernel {
 public:
  CachedKernel(std::unique_ptr<Kernel> work, double warm_us, double cold_us)
      : work_(std::move(work)), warm_us_(warm_us), cold_us_(cold_us) {}
  Status run(Context& context) const noexcept override {
    static int runs = 0;  // of all such kernels; one thread runs them
    const bool evicted = ++runs - last_ > kLayers;
    last_ = runs;
    cold_ = evicted ? 3 : std::max(0, cold_ - 1);
    SettableClock::pass_us(warm_us_ + (cold_us_ - warm_us_) * cold_ / 3);
    return work_->run(context);
  }

 private:
  std::unique_ptr<Kernel> work_;
  double warm_us_, cold_us_;
  mutable int last_ = 0, cold_ = 0;
};

class CachedCumsum final : public ChangedCumsum {
 public:
  CachedCumsum(const char* descriptor, const Routine& naive, double warm_us, double cold_us)
      : ChangedCumsum(descriptor, naive), warm_us_(warm_us), cold_us_(cold_us) {}
  RoutineFacts facts() const override { return {.default_rank = static_cast<int>(cold_us_)}; }

 private:
  std::unique_ptr<Kernel> changed(std::unique_ptr<Kernel> work) const override {
    return std::make_unique<CachedKernel>(std::move(work), warm_us_, cold_us_);
  }

  double warm_us_, cold_us_;
};

// The candidates of each layer of `graph`, not measured. `runtime` outlives them.
std::vector<LayerCandidates> near_tie_candidates(const std::shared_ptr<Runtime>& runtime,
                                                 const std::shared_ptr<const Graph>& graph) {
  const Shape shapes[] = {Shape{1, 64}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  const std::vector<std::string> float32 = {"cpu:float32"};
  return list_candidates(runtime->routine_context(), problems, {float32}).value();
}

}  // namespace

TEST_CASE("tune: a time measured in the net counts for all layers with the same problem") {
  const auto graph = chain();
  const std::shared_ptr<Runtime> runtime = runtime_with_near_ties();
  std::vector<LayerCandidates> layers = near_tie_candidates(runtime, graph);
  REQUIRE(layers.size() == kLayers);
  for (LayerCandidates& layer : layers)
    for (Candidate& candidate : layer.candidates)
      candidate.isolated_us = is_slow(candidate) ? 100 : 104;
  AdaptTimes adapts(
      [](TensorId, const Format&, const Format&) -> Result<AdaptChoice> { return AdaptChoice{}; });
  const auto slow_ones = [&] {
    const Selection path = select_paths(*graph, layers, adapts, {}).value().paths[0];
    int slow = 0;
    for (std::size_t l = 0; l < layers.size(); ++l)
      slow += is_slow(layers[l].candidates[static_cast<std::size_t>(path.choice[l])]);
    return slow;
  };
  CHECK(slow_ones() == kLayers);  // alone it looks better
  for (Candidate& candidate : layers[2].candidates)
    candidate.in_net = {is_slow(candidate) ? 120.0 : 60.0, 10};
  CHECK(slow_ones() == 0);
}

TEST_CASE("tune: optimistic selection takes what few samples say less of") {
  const auto graph = chain();
  const std::shared_ptr<Runtime> runtime = runtime_with_near_ties();
  std::vector<LayerCandidates> layers = near_tie_candidates(runtime, graph);
  const auto measure = [&](double quick_samples) {
    for (LayerCandidates& layer : layers)
      for (Candidate& candidate : layer.candidates) {
        candidate.isolated_us = 100;
        candidate.in_net = is_slow(candidate) ? MeanTime{100, 1000} : MeanTime{104, quick_samples};
      }
  };
  AdaptTimes adapts(
      [](TensorId, const Format&, const Format&) -> Result<AdaptChoice> { return AdaptChoice{}; });
  const auto takes_slow = [&](bool optimistic) {
    SelectionRules rules;
    rules.noise = 0.05;
    rules.optimistic = [optimistic](const LayerCandidates&, const Candidate& candidate) {
      return optimistic && !is_slow(candidate);
    };
    const Selection path = select_paths(*graph, layers, adapts, rules).value().paths[0];
    return is_slow(layers[0].candidates[static_cast<std::size_t>(path.choice[0])]);
  };
  measure(4);  // an uncertainty of a tenth
  CHECK_FALSE(takes_slow(true));
  CHECK(takes_slow(false));
  measure(100);  // of a fiftieth
  CHECK(takes_slow(true));
}

TEST_CASE("tune: candidates that were not measured in the net are taken where no other can be") {
  const auto graph = chain();
  const std::shared_ptr<Runtime> runtime = runtime_with_near_ties();
  std::vector<LayerCandidates> layers = near_tie_candidates(runtime, graph);
  AdaptTimes adapts(
      [](TensorId, const Format&, const Format&) -> Result<AdaptChoice> { return AdaptChoice{}; });
  const auto takes_slow = [&](double quick_isolated_us) {
    for (LayerCandidates& layer : layers)
      for (Candidate& candidate : layer.candidates) {
        candidate.isolated_us = is_slow(candidate) ? 20 : quick_isolated_us;
        candidate.in_net = is_slow(candidate) ? MeanTime() : MeanTime{50, 10};
      }
    const Selection path = select_paths(*graph, layers, adapts, {}).value().paths[0];
    return is_slow(layers[0].candidates[static_cast<std::size_t>(path.choice[0])]);
  };
  CHECK_FALSE(takes_slow(40));
  // A cache knows the quick one in the net, and the time was up before it was measured in
  // isolation.
  CHECK(takes_slow(std::numeric_limits<double>::infinity()));
}

TEST_CASE("uncertainty: largest without samples, less with more samples and with less noise") {
  const MeanTime none, few{50, 4}, many{50, 100};
  CHECK(uncertainty(none, 0.01) == 0.2);
  CHECK(uncertainty(few, 0.01) == Approx(0.02).epsilon(0.02));
  CHECK(uncertainty(many, 0.01) == Approx(0.004).epsilon(0.02));
  CHECK(uncertainty(many, 0.1) == Approx(0.04).epsilon(0.02));
  CHECK(uncertainty(few, 10) == 0.2);  // not more than without samples
}

TEST_CASE("tune: near-ties with slightly wrong cached times are ranked right in every layer") {
  const SettableClock clock;
  // Everything was measured before, isolated and in the net; the quick one had bad luck each time.
  check_all_quick(runtime_with_near_ties(),
                  {.slow_us = 100, .quick_us = 104, .quick_in_net = true});
}

TEST_CASE("tune: a candidate within the unit-to-net deviation of the best is measured in the net") {
  const SettableClock clock;
  check_all_quick(runtime_with_near_ties(),
                  {.slow_us = 100, .quick_us = 117, .quick_in_net = false});
}

TEST_CASE("tune: interleaved paths are compared as they run in steady use") {
  const SettableClock clock;
  NetOptions net_options;
  net_options.threads = 1;
  const std::shared_ptr<Runtime> runtime = make_runtime(net_options).value();
  auto& registry = const_cast<Registry&>(runtime->registry());
  const Routine& naive = *registry.find("cumsum", "cpu/naive");
  REQUIRE(registry.add(std::make_unique<CachedCumsum>("cpu/slow", naive, 120, 120)).ok());
  REQUIRE(registry.add(std::make_unique<CachedCumsum>("cpu/quick", naive, 50, 400)).ok());
  check_all_quick(runtime, {.slow_us = 100, .quick_us = 104, .quick_in_net = true});
}

TEST_CASE("tune: whole-net rows of the cache serve the same shapes and routines only") {
  const SettableClock clock;
  const TemporaryFolder folder;
  TuneOptions options;
  options.cache.folder = folder.path().string();
  // Another routine is as quick, or there is nothing to find out inside the net.
  const auto runtime_with_equals = [](int version) {
    std::shared_ptr<Runtime> runtime = runtime_with_near_ties(version);
    auto& registry = const_cast<Registry&>(runtime->registry());
    const Routine& naive = *registry.find("cumsum", "cpu/naive");
    REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/equal", naive, 50)).ok());
    return runtime;
  };
  const std::shared_ptr<Runtime> runtime = runtime_with_equals(1);
  const auto graph = chain(Dim("rows"));
  const TuneJob first = job_for(runtime, graph, Shape{1, 64}, options);
  REQUIRE(tune(first).ok());
  REQUIRE(knows_net_times(first));
  CHECK(tune(first)->report.measured == 0);
  SECTION("the same net for other sizes is run again") {
    const TuneJob job = job_for(runtime, graph, Shape{2, 64}, options);
    REQUIRE(tune(job).ok());
    CHECK(knows_net_times(job));
  }
  SECTION("with a routine in another version it is run again") {
    const TuneJob job = job_for(runtime_with_equals(2), graph, Shape{1, 64}, options);
    REQUIRE(tune(job).ok());
    CHECK(knows_net_times(job));
  }
}

TEST_CASE("tune: what was measured on a disturbed machine is measured again on a quiet one") {
  const SettableClock clock;
  const TemporaryFolder folder;
  TuneOptions options;
  options.cache.folder = folder.path().string();
  const TuneJob job = job_for(runtime_with_near_ties(), chain(), Shape{1, 64}, options);
  REQUIRE(tune(job).ok());
  REQUIRE(tune(job)->report.measured == 0);
  const auto open = [&](ProfileCache& cache) {
    cache.open(options.cache.folder, machine_name(), 1, nullptr);
  };
  {
    ProfileCache cache;
    open(cache);
    const auto rows = cache.rows();
    for (auto [key, row] : rows) {
      std::visit([](auto& known) { known.disturbed = true; }, row);
      cache.put(key, row);
    }
  }
  CHECK(tune(job)->report.measured > 0);  // with one thread no machine is disturbed
  CHECK(tune(job)->report.measured == 0);
  ProfileCache cache;
  open(cache);
  for (const auto& [key, row] : cache.rows())
    if (key.kind == RowKind::net_time || key.kind == RowKind::search_rounds ||
        key.kind == RowKind::path_time) {
      INFO(key.text);
      CHECK_FALSE(is_disturbed(row));
    }
}

TEST_CASE("tune: a path that won by luck loses when it is measured again", "[slow]") {
  const SettableClock clock;
  const TemporaryFolder folder;
  NetOptions net_options;
  net_options.threads = 1;
  const std::shared_ptr<Runtime> runtime = make_runtime(net_options).value();
  auto& registry = const_cast<Registry&>(runtime->registry());
  const Routine& naive = *registry.find("cumsum", "cpu/naive");
  // It has the higher rank: without another look it would win the final benchmark as the default
  // choice.
  auto lucky = std::make_unique<TimedCumsum>("cpu/lucky", naive, 102);
  TimedCumsum& luck = *lucky;
  luck.take_from_now_on(100);
  REQUIRE(registry.add(std::move(lucky)).ok());
  auto steady = std::make_unique<TimedCumsum>("cpu/steady", naive, 101);
  TimedCumsum& usual = *steady;
  REQUIRE(registry.add(std::move(steady)).ok());
  TuneOptions options;
  options.cache.folder = folder.path().string();
  bool again = false;
  int turn = 0;
  options.progress = [&](const TuneProgress& progress) {
    // Samples scatter, so that one round does not suffice.
    usual.take_from_now_on(++turn % 2 == 0 ? 101 : 201);
    if (std::string_view(progress.stage) != "net" || progress.done != 1) return;
    again = true;
    luck.take_from_now_on(500);
  };
  const TuneJob job = job_for(runtime, chain(), Shape{1, 64}, options);
  const Result<TuneResult> result = tune(job);
  REQUIRE(result.ok());
  REQUIRE(again);
  for (const TunedLayer& layer : result->report.layers) CHECK(layer.routine == "cpu/steady");
  CHECK(tune(job)->report.measured == 0);
}

TEST_CASE("tune: a round that was cancelled is run the next time") {
  const SettableClock clock;
  const TemporaryFolder folder;
  const std::shared_ptr<Runtime> runtime = runtime_with_near_ties();
  TuneOptions options;
  options.cache.folder = folder.path().string();
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  const std::size_t round = GENERATE(0, 1);
  bool seen = false;
  options.progress = [&](const TuneProgress& progress) {
    if (std::string_view(progress.stage) == "net" && progress.done == round) cancel = seen = true;
  };
  // As in the case above: near-ties, or there is nothing to compare.
  auto& registry = const_cast<Registry&>(runtime->registry());
  const Routine& naive = *registry.find("cumsum", "cpu/naive");
  REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/equal", naive, 50)).ok());
  const TuneJob job = job_for(runtime, chain(), Shape{1, 64}, options);
  CHECK(tune(job).status().code() == StatusCode::cancelled);
  REQUIRE(seen);
  seen = false;
  cancel = false;
  options.cancel = nullptr;
  REQUIRE(tune(job).ok());
  CHECK(seen);
}

TEST_CASE("times of several comparisons are weighed by their samples") {
  MeanTime mean;
  mean.add(10, 30);
  CHECK(mean.us == 10);
  mean.add(20, 10);
  CHECK(mean.us == 12.5);
  CHECK(mean.samples == 40);
}
