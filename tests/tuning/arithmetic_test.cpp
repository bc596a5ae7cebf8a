// Arithmetic that is coarser than its tensors is a kind of its own: taken where it is asked for,
// held to its own tolerance, and to the limit of the error.
#include <catch2/catch.hpp>

#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/plan_impl.h"
#include "net/tuned_plan.h"
#include "profiler/tune/tuner.h"
#include "small_net.h"
#include "support/rounding_matmul.h"
#include "support/settable_clock.h"

namespace softneuro {
Status register_routine_matmul_cpu_naive(Registry& registry);
}

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr double kExactUs = 200, kRoundedUs = 50;

std::unique_ptr<RoundingMatmul> timed(const char* name, int bits, double us) {
  auto routine = std::make_unique<RoundingMatmul>(name, bits);
  routine->on_run = [us] { SettableClock::pass_us(us); };
  return routine;
}

// A chain of three products: exact ones, and those of `rounding` in a quarter of their time.
struct Products {
  SettableClock clock;
  std::unique_ptr<ThreadPool> pool = create_thread_pool(1).value();
  TuneOptions options;
  std::vector<NamedTensors> samples;
  SampleSource source;
  TuneJob job;

  explicit Products(std::vector<std::string> schemas, int bits = RoundingMatmul::kTf32Bits,
                    const char* name = "cpu:tf32/rounding") {
    Registry registry(builtin_layer_types());
    REQUIRE(register_routine_matmul_cpu_naive(registry).ok());
    REQUIRE(registry.add(timed("cpu/exact", 0, kExactUs)).ok());
    REQUIRE(registry.add(timed(name, bits, kRoundedUs)).ok());
    job.runtime = std::make_shared<Runtime>(Runtime::Parts{.libraries = {},
                                                           .registry = std::move(registry),
                                                           .allocator = &default_allocator(),
                                                           .owned_pool = nullptr,
                                                           .pool = pool.get(),
                                                           .log = {},
                                                           .schemas = {}});
    SmallNetBuilder b;
    TensorId x = b.input("x", DynamicShape(Shape{4, 32}));
    for (int l = 0; l < 3; ++l) {
      const std::string layer = "product" + std::to_string(l);
      x = b.layer("matmul", layer, {x, b.weights(layer + ".w", {32, 32})});
    }
    b.graph.outputs = {x};
    options.cache.disabled = true;
    options.schemas = std::move(schemas);
    job.graph = job.model = finished(std::move(b.graph));
    job.is_model = true;
    job.shapes = {Shape{4, 32}};
    job.inputs = {random_image(5, {4, 32})};
    job.verification_inputs = {job.inputs};
    job.options = &options;
    job.rules = rules_of(options);
  }

  // Samples that the error is measured on.
  void limit_error(double most) {
    options.max_error = most;
    for (const Tensor& x : {job.inputs[0], random_image(6, {4, 32})}) samples.push_back({{"x", x}});
    job.validation = SampleSet("validation", samples, source, *job.graph, job.shapes);
    const auto plan = build_plan(job.runtime, job.graph, job.shapes).value();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Session session = Session::create(plan).value();
      std::vector<Tensor> outputs(1);
      REQUIRE(session.run(job.validation.at(i).value(), outputs).ok());
      job.references.push_back({outputs[0].clone().value()});
    }
  }

  TuneResult tuned() {
    Result<TuneResult> result = tune(job);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return *std::move(result);
  }
};

std::size_t count_of(const TuneReport& report, const std::string& routine) {
  return static_cast<std::size_t>(std::ranges::count(report.layers, routine, &TunedLayer::routine));
}

const NotChosen* not_chosen(const TunedLayer& layer, const std::string& kind) {
  const auto found = std::ranges::find(layer.not_chosen, kind, &NotChosen::kind);
  return found == layer.not_chosen.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("tune: tf32 is no candidate where the schemas do not let it in") {
  for (const char* schema : {"cpu:float32", "cpu:float32:plain"}) {
    const TuneReport report = Products({schema}).tuned().report;
    CHECK(count_of(report, "cpu:tf32/rounding") == 0);
    for (const TunedLayer& layer : report.layers) CHECK(layer.not_chosen.empty());
  }
}

TEST_CASE("tune: tf32 is a kind of its own, of float32 tensors") {
  for (const std::vector<std::string>& schemas :
       {std::vector<std::string>{"cpu"}, {"cpu:float32", "cpu:tf32"}, {"cpu:tf32"}}) {
    Products products(schemas);
    const TuneResult result = products.tuned();
    CHECK(count_of(result.report, "cpu:tf32/rounding") == 3);
    CHECK(result.report.rejected == 0);
    for (const auto& [layer, choice] : result.path.layers)
      CHECK(choice.formats.str() == "float32,float32 -> float32");
    for (const TunedLayer& layer : result.report.layers) {
      const NotChosen* const exact = not_chosen(layer, "cpu:float32");
      CHECK((exact != nullptr) == (schemas.size() == 2 || schemas[0] == "cpu"));
      if (exact != nullptr) CHECK(exact->reason == NotChosen::Reason::slower);
    }
  }
}

TEST_CASE("tune: candidates are held to the tolerance of the arithmetic that they name") {
  // Seven significant bits: beyond what float32 explains, and within what TF32 does.
  constexpr int kBits = 17;
  const std::vector<std::string> schemas = {"cpu"};
  const TuneReport claimed = Products(schemas, kBits, "cpu/rounding").tuned().report;
  CHECK(claimed.rejected == 1);  // the three layers pose one problem
  CHECK(count_of(claimed, "cpu/exact") == 3);
  const TuneReport named = Products(schemas, kBits).tuned().report;
  CHECK(named.rejected == 0);
  CHECK(count_of(named, "cpu:tf32/rounding") == 3);
}

TEST_CASE("tune: a limit of the error takes layers out of tf32 as out of 16 bits") {
  Products products({"cpu"});
  products.limit_error(1e-6);
  const TuneReport report = products.tuned().report;
  CHECK(report.within_limit);
  CHECK(report.error <= 1e-6);
  CHECK(count_of(report, "cpu:tf32/rounding") == 0);

  Products loose({"cpu"});
  loose.limit_error(1e-2);
  const TuneReport rounded = loose.tuned().report;
  CHECK(count_of(rounded, "cpu:tf32/rounding") == 3);
  CHECK(rounded.error > 1e-5);
}

TEST_CASE("tune: a file keeps the arithmetic of its layers") {
  Products products({"cpu"});
  const RoutinePath path = products.tuned().path;
  const Tensor bytes = serialize_dnn(*products.job.graph, default_allocator(), {&path, 1}).value();
  const DnnContents read =
      load_dnn_contents_memory(bytes.data(), bytes.bytes(), nullptr, builtin_layer_types()).value();
  REQUIRE(read.paths.size() == 1);
  ReplacedChoices replaced;
  const auto plan = build_plan(products.job.runtime, std::make_shared<const Graph>(read.graph),
                               products.job.shapes, read.paths[0], &replaced)
                        .value();
  CHECK(replaced.layers.empty());
  const std::vector<Step>& steps = impl_of(*plan).steps;
  CHECK(steps.size() == 3);
  for (const Step& step : steps) CHECK(step.routine_name == "cpu:tf32/rounding");
}
