// Childnets are tuned innermost first: what is inside is measured alone, solved, and then measured
// as a whole; what has lost inside already is not.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/childnet/childnet_text.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "core/routine/implement_choice.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "profiler/select/childnet_solve.h"
#include "profiler/select/unit_profile.h"
#include "routines/builtin.h"
#include "small_net.h"
#include "support/wrapped_conv.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

const std::vector<std::string> kFloat32 = {"cpu:float32"};

struct Packings {
  int count = 0, unwritten = 0;
};

// wgconv by the built-in routine's work under another name: what a plugin might bring.
class OtherImplementation final : public Implementation {
 public:
  OtherImplementation(ProblemPtr problem, const RoutineContext& context,
                      std::shared_ptr<const Implementation> work, Packings& packings)
      : Implementation(std::move(problem), context), work_(std::move(work)), packings_(packings) {}
  Result<Packing> packing(const RoutineParams&) const override {
    return work_->packing(work_->default_params());
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    ++packings_.count;
    for (const float weight : problem().inputs[1].value.values<float>())
      packings_.unwritten += std::isnan(weight);
    return work_->pack(work_->default_params(), scratch, packed);
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    return work_->create(work_->default_params(), packed);
  }

 private:
  std::shared_ptr<const Implementation> work_;
  Packings& packings_;
};

class OtherWgconv final : public Routine {
 public:
  explicit OtherWgconv(const Routine& work)
      : Routine("wgconv", "cpu:float32:nhwc/other"), work_(work) {}

  mutable Packings packings;

 protected:
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    auto work = work_.implement(problem, context);
    if (!work.ok()) return work.status();
    return make_implementation_of<OtherImplementation>(std::move(problem), context,
                                                       *std::move(work), packings);
  }

 private:
  const Routine& work_;
};

// image [1 x 16 x 12 x 12] → conv "left" to 32 channels → dense "fc": both may be childnets.
Graph childnet_graph() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 16, 12, 12}));
  const TensorId flat = b.layer("flatten", "flat", {b.conv("left", image, 16, 32, 3)});
  b.graph.outputs = {
      b.layer("dense", "fc", {flat, b.weights("fc.w", {4608, 32}), b.weights("fc.b", {32})})};
  return b.graph;
}

// Its layers, as problems and with their candidates.
struct Fixture {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;
  NetProblems problems;
  std::vector<LayerCandidates> layers;
  ProfileCache cache;  // in memory
  TuneBudget budget;

  explicit Fixture(Allocator* allocator = nullptr) {
    graph = finished(childnet_graph());
    NetOptions options;
    options.threads = 1;
    options.allocator = allocator;
    runtime = make_runtime(options).value();
    const Shape shapes[] = {Shape{1, 16, 12, 12}};
    problems = infer_problems(runtime, graph, shapes).value();
    layers = list_candidates(runtime->routine_context(), problems, {kFloat32, 8}).value();
  }

  LayerCandidates& layer(const std::string& name) {
    for (LayerCandidates& entry : layers)
      if (entry.layer.layer->name == name) return entry;
    FAIL("no layer " << name);
    return layers[0];
  }
  UnitCounts profile(LayerCandidates& entry, bool exhaustive = false) {
    PoolBarrier barrier(runtime->pool());
    UnitProfiler profiler(*runtime, cache, budget, barrier, exhaustive);
    profiler.rules = {kFloat32, 8};
    const Status status = profiler.profile(entry.layer.problem, entry.candidates);
    INFO(status.message());
    REQUIRE(status.ok());
    return profiler.counts();
  }
};

std::vector<Candidate*> those_of(LayerCandidates& entry, const std::string& routine) {
  std::vector<Candidate*> found;
  for (Candidate& candidate : entry.candidates)
    if (candidate.routine != nullptr && candidate.routine->descriptor().str() == routine)
      found.push_back(&candidate);
  return found;
}

Problem nhwc_problem(Fixture& f, const std::string& layer) {
  const Problem& model = f.layer(layer).layer.problem;
  return with_formats(model, uniform_formats(model, DataType::float32, Layout::channels_last)[0]);
}

std::shared_ptr<const ChildnetImplementation> childnet_of(const Registry& registry,
                                                          const std::string& name,
                                                          const Problem& problem) {
  const Routine* routine = registry.find(problem.type->name, name);
  REQUIRE(routine != nullptr);
  const ImplementationPtr made = RoutineContext(registry).implement(*routine, problem).value();
  REQUIRE(made->as_childnet() != nullptr);
  return {made, made->as_childnet()};
}

std::shared_ptr<const ChildnetImplementation> winograd(const Registry& registry,
                                                       const Problem& problem) {
  return childnet_of(registry, "cpu:float32:nhwc/wgnet", problem);
}

RoutineContext inside_of(const Registry& registry) {
  return RoutineContext(registry).inside_childnet();
}

// Made-up times, by layer and parameters: 10 µs, but for what `text` holds.
struct MadeUpTimes {
  std::string fast;                // Candidate::str() of what takes 2 µs
  std::string fast_but_wrong;      // of what takes 1 µs and computes nonsense
  std::vector<std::string> asked;  // layers, in order

  MeasureInside measure() {
    return
        [this](const Problem& problem, std::vector<Candidate>& candidates, const FillConstants&) {
          asked.push_back(problem.layer_name);
          for (Candidate& candidate : candidates) {
            candidate.isolated_us = candidate.str() == fast             ? 2
                                    : candidate.str() == fast_but_wrong ? 1
                                                                        : 10;
            candidate.wrong = candidate.str() == fast_but_wrong;
          }
          return Status();
        };
  }
};

}  // namespace

TEST_CASE("childnets: the solver's best path inside is named, wrong candidates apart") {
  Fixture f;
  const Problem problem = nhwc_problem(f, "left");
  const Registry& registry = f.runtime->registry();
  const auto net = winograd(registry, problem);
  RoutineParams params = net->default_params();
  MadeUpTimes times;
  times.fast = "cpu:float32:nhwc/gemm rows=384";
  times.fast_but_wrong = "cpu:float32:nhwc/gemm rows=24";
  const auto solved = solve_inside(inside_of(registry), *net, params, {kFloat32, 8}, 1e9,
                                   default_allocator(), times.measure());
  INFO(solved.status().message());
  REQUIRE(solved.ok());
  CHECK(solved->known);
  CHECK(solved->within_bound);
  CHECK(solved->time_us == 22);
  CHECK(times.asked == std::vector<std::string>{"left/wgenc", "left/wgconv", "left/wgdec"});
  const auto choices = parse_inner(solved->inner).value();
  REQUIRE(choices.size() == 3);
  CHECK(choices[1].layer == "wgconv");
  CHECK(choices[1].params == "rows=384");
  params.set("inner", solved->inner);
  CHECK(net->expand(params).ok());
}

TEST_CASE("childnets: measuring stops inside as soon as the layers there have lost") {
  Fixture f;
  const Problem problem = nhwc_problem(f, "left");
  const Registry& registry = f.runtime->registry();
  const auto net = winograd(registry, problem);
  const RoutineParams params = net->default_params();
  MadeUpTimes times;
  const ChildnetInside lost = solve_inside(inside_of(registry), *net, params, {kFloat32, 8}, 15,
                                           default_allocator(), times.measure())
                                  .value();
  CHECK_FALSE(lost.known);
  CHECK_FALSE(lost.within_bound);
  CHECK(times.asked.size() == 2);  // 10 µs are within 15, 20 are not
  const ChildnetInside unknown =
      solve_inside(
          inside_of(registry), *net, params, {kFloat32, 8}, 1e9, default_allocator(),
          [](const Problem&, std::vector<Candidate>&, const FillConstants&) { return Status(); })
          .value();
  CHECK_FALSE(unknown.known);  // nothing was measured: the time was up
  CHECK(unknown.within_bound);
}

TEST_CASE("childnets: unit profiling fills in what is inside, and measures the whole") {
  Fixture f;
  LayerCandidates& left = f.layer("left");
  const auto nets = those_of(left, "cpu:float32:nhwc/wgnet");
  REQUIRE(nets.size() >= 2);  // tile sizes
  for (const Candidate* net : nets) CHECK(net->unresolved);
  const UnitCounts counts = f.profile(left, true);
  CHECK(counts.measured > nets.size());
  for (const Candidate* net : nets) {
    INFO(net->str());
    CHECK_FALSE(net->unresolved);
    CHECK_FALSE(net->wrong);
    CHECK(std::isfinite(net->isolated_us));
    const auto choices = parse_inner(net->params.text("inner")).value();
    CHECK(choices.size() == 3);
    REQUIRE(f.cache.find(net->key) != nullptr);
    CHECK(f.cache.find(net->key)->time_us == net->isolated_us);
    // Each layer inside has the candidate with the least time among those in the cache.
    const Problem problem = with_formats(left.layer.problem, net->formats);
    const auto expanded = winograd(f.runtime->registry(), problem)->expand(net->params).value();
    for (const ChildnetLayer& layer : expanded->layers) {
      const Profile* chosen = f.cache.find(profile_key(
          f.runtime->registry(), layer.problem, layer.implementation->routine(), layer.params));
      REQUIRE(chosen != nullptr);
      for (const Candidate& other :
           list_fixed_candidates(inside_of(f.runtime->registry()), layer.problem, {kFloat32, 8})) {
        const Profile* row = f.cache.find(other.key);
        REQUIRE(row != nullptr);
        CHECK((row->wrong || row->time_us >= chosen->time_us));
      }
    }
  }
  // The same once more: all is known, and the same path is chosen.
  Fixture again;
  for (const auto& [key, row] : f.cache.rows()) again.cache.put(key, row);
  LayerCandidates& same = again.layer("left");
  CHECK(again.profile(same, true).measured == 0);
  for (std::size_t c = 0; c < left.candidates.size(); ++c)
    CHECK(same.candidates[c].params == left.candidates[c].params);
}

TEST_CASE("childnets: one that has lost inside is not measured as a whole, and never taken") {
  Fixture f;
  LayerCandidates& left = f.layer("left");
  for (Candidate& candidate : left.candidates)
    if (!candidate.unresolved) f.cache.put(candidate.key, Profile{.time_us = 1e-3});
  f.profile(left);
  for (const Candidate* net : those_of(left, "cpu:float32:nhwc/wgnet")) {
    CHECK(net->unresolved);
    CHECK_FALSE(std::isfinite(net->isolated_us));
    CHECK(f.cache.find(net->key) == nullptr);
  }
  for (const auto& [key, profile] : f.cache.rows())
    CHECK(key.text.find("/wgnet|") == std::string::npos);
}

TEST_CASE("childnets: a layer inside shares its times with the same problem elsewhere") {
  Fixture f;
  LayerCandidates& dense = f.layer("fc");
  const auto nets = those_of(dense, "cpu/convnet");
  REQUIRE_FALSE(nets.empty());
  std::vector<std::string> inside;
  for (Candidate& candidate : dense.candidates)
    if (!candidate.unresolved) f.cache.put(candidate.key, Profile{.time_us = 1e6});
  const Problem outer = dense.layer.problem;
  for (const Candidate* net : nets) {
    const auto expanded =
        childnet_of(f.runtime->registry(), "cpu/convnet", outer)->expand(net->params).value();
    for (const ChildnetLayer& layer : expanded->layers) {
      if (layer.view) continue;
      for (const Candidate& inner :
           list_fixed_candidates(inside_of(f.runtime->registry()), layer.problem, {kFloat32, 8})) {
        if (inner.unresolved) continue;
        f.cache.put(inner.key, Profile{.time_us = 5});
        inside.push_back(inner.key);
      }
    }
  }
  REQUIRE_FALSE(inside.empty());
  CHECK(f.profile(dense).measured >= nets.size());  // the wholes, and not what is inside:
  for (const std::string& key : inside) CHECK(f.cache.find(key)->time_us == 5);
  for (const Candidate* net : nets) CHECK(std::isfinite(net->isolated_us));
}

TEST_CASE("childnets: routines inside come from the registry that is passed in") {
  Fixture f;
  const Problem problem = nhwc_problem(f, "left");
  Registry registry = make_builtin_registry().value();
  const Routine* gemm = registry.find("wgconv", "cpu:float32:nhwc/gemm");
  REQUIRE(gemm != nullptr);
  REQUIRE(registry.add(std::make_unique<OtherWgconv>(*gemm)).ok());
  const auto net = winograd(registry, problem);
  RoutineParams params = net->default_params();
  params.set("inner", std::string("{wgconv=cpu:float32:nhwc/other}"));
  CHECK_FALSE(winograd(f.runtime->registry(), problem)->expand(params).ok());
  CHECK(net->expand(params).ok());
  MadeUpTimes times;
  times.fast = "cpu:float32:nhwc/other";
  const ChildnetInside solved =
      solve_inside(inside_of(registry), *net, net->default_params(), {kFloat32, 8}, 1e9,
                   default_allocator(), times.measure())
          .value();
  CHECK(solved.inner.find("wgconv=cpu:float32:nhwc/other") != std::string::npos);
  // Where nothing is named, routines of rank 0 are not taken.
  const auto usual = net->expand(net->default_params()).value();
  CHECK(&usual->layers[1].implementation->routine() == gemm);
}

TEST_CASE("childnets: what is measured inside has constants, all of them") {
  Fixture f;
  const Problem problem = nhwc_problem(f, "left");
  const Registry& registry = f.runtime->registry();
  std::size_t constants = 0;
  const MeasureInside measure = [&](const Problem& layer, std::vector<Candidate>& candidates,
                                    const FillConstants& fill) {
    fill();
    for (const TensorSpec& input : layer.inputs) {
      if (!input.constant) continue;
      ++constants;
      double squares = 0;
      for (const float value : input.value.values<float>()) squares += value * value;
      CHECK(squares / static_cast<double>(input.value.elements()) > 1e-3);
      CHECK(std::isfinite(squares));
    }
    for (Candidate& candidate : candidates) candidate.isolated_us = 1;
    return Status();
  };
  const auto net = winograd(registry, problem);
  CHECK(solve_inside(inside_of(registry), *net, net->default_params(), {kFloat32, 8}, 1e9,
                     default_allocator(), measure)
            .ok());
  CHECK(constants >= 2);  // transformed weights, bias
}

TEST_CASE("childnets: a profiler fills the constants before it measures inside") {
  // An output that was never written is not a number.
  struct UnwrittenAllocator final : Allocator {
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
      void* const memory = default_allocator().allocate(bytes, alignment);
      if (memory != nullptr) std::memset(memory, 0xff, bytes);
      return memory;
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept override {
      default_allocator().deallocate(pointer, bytes);
    }
  };
  UnwrittenAllocator allocator;
  Fixture f(&allocator);
  auto& registry = const_cast<Registry&>(f.runtime->registry());  // as if a plugin brought it
  auto other = std::make_unique<OtherWgconv>(*registry.find("wgconv", "cpu:float32:nhwc/gemm"));
  const OtherWgconv& watched = *other;
  REQUIRE(registry.add(std::move(other)).ok());
  f.profile(f.layer("left"), true);
  CHECK(watched.packings.count > 0);
  CHECK(watched.packings.unwritten == 0);
}

TEST_CASE("childnets: one within another is left open until its own inside is chosen") {
  Fixture f;
  const Problem problem = nhwc_problem(f, "left");
  Registry registry = make_builtin_registry().value();
  REQUIRE(registry.add(std::make_unique<Wrapped>()).ok());
  const auto outer = childnet_of(registry, "cpu:float32:nhwc/wrapped", problem);
  std::size_t opened = 0;
  const MeasureInside measure = [&](const Problem&, std::vector<Candidate>& candidates,
                                    const FillConstants&) {
    for (Candidate& candidate : candidates) {
      if (!candidate.unresolved) {
        candidate.isolated_us = 10;
        CHECK(opened == 0);  // childnets come last
        continue;
      }
      ++opened;
      if (candidate.routine->descriptor().algorithm != "wgnet") continue;
      candidate.unresolved = false;  // as a profiler would, from what is inside
      candidate.params.set("inner", std::string("{wgconv=cpu:float32:nhwc/gemm{rows=24}}"));
      candidate.isolated_us = 3;
    }
    return Status();
  };
  const ChildnetInside solved = solve_inside(inside_of(registry), *outer, outer->default_params(),
                                             {kFloat32, 8}, 1e9, default_allocator(), measure)
                                    .value();
  CHECK(opened >= 2);
  CHECK(solved.time_us == 3);
  INFO(solved.inner);
  CHECK(solved.inner.find("conv=cpu:float32:nhwc/wgnet{inner={wgconv=cpu:float32:nhwc/gemm{"
                          "rows=24}}") != std::string::npos);
  RoutineParams params = outer->default_params();
  params.set("inner", solved.inner);
  CHECK(outer->check_params(params).ok());
  CHECK(outer->pack_weights(params, default_allocator()).ok());
  for (const char* const nested : {"{wgconv=cpu:float32:nhwc/none}", "wgconv", "{wgconv={}}"}) {
    INFO(nested);
    params.set("inner", "{conv=cpu:float32:nhwc/wgnet{inner=" + std::string(nested) + "}}");
    CHECK_FALSE(outer->check_params(params).ok());
  }
  // Without childnets none is listed: nothing goes on for ever.
  for (const Candidate& candidate :
       list_fixed_candidates(inside_of(registry), problem, {kFloat32, 8, false}))
    CHECK_FALSE(candidate.routine->facts().is_childnet);
}

TEST_CASE("childnets: a path may name all that is inside; what is not there is refused") {
  Fixture f;
  LayerCandidates& left = f.layer("left");
  const auto nets = those_of(left, "cpu:float32:nhwc/wgnet");
  REQUIRE_FALSE(nets.empty());
  Choice choice = nets[0]->choice();
  const auto check = [&](const std::string& inner) {
    choice.params.set("inner", inner);
    return implement_choice(f.runtime->routine_context(), left.layer.problem, choice);
  };
  const std::string whole =
      "{wgenc=cpu:float32:nhwc/direct{tiles=16};wgconv=cpu:float32:nhwc/gemm{rows=384};"
      "wgdec=cpu:float32:nhwc/direct{tiles=16}}";
  CHECK(check(whole).ok());
  CHECK_FALSE(check("{wgconv=cpu:float32:nhwc/plugged}").ok());
  CHECK_FALSE(check("{wgconv=cpu:float32:nhwc/gemm{rows=23}}").ok());
  choice.params.set("tile_size", std::int64_t{7});
  CHECK_FALSE(check(whole).ok());
  choice.params = nets[0]->params;
  choice.params.set("inner", whole);
  RoutinePath path;
  path.layers.emplace(left.layer.layer->id, choice);
  ReplacedChoices replaced;
  const Shape shapes[] = {Shape{1, 16, 12, 12}};
  CHECK(build_plan(f.runtime, f.graph, shapes, path, &replaced).ok());
  CHECK(replaced.layers.empty());
}
