// The tuned net computes what the model does: what tuning verifies at its end, and what keeps it
// true.
#include "verify/verification.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/layers/builtin_layers.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/tune/tuner.h"
#include "small_net.h"
#include "support/planted_unary.h"
#include "support/temporary_folder.h"
#include "timed_cumsum.h"
#include "verify/synthetic_inputs.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// cumsum, one per cent too large where an input lies outside of what candidates are tried on alone.
class SloppyKernel final : public Kernel {
 public:
  explicit SloppyKernel(std::unique_ptr<Kernel> work) : work_(std::move(work)) {}
  Status run(Context& context) const noexcept override {
    SN_RETURN_IF_ERROR(work_->run(context));
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const float* const from = x.as<float>();
    if (std::none_of(from, from + x.elements(), [](float v) { return std::fabs(v) > 3.5f; }))
      return {};
    for (std::int64_t i = 0; i < y.elements(); ++i) y.as_mutable<float>()[i] *= 1.01f;
    return {};
  }

 private:
  std::unique_ptr<Kernel> work_;
};

class SloppyCumsum final : public ChangedCumsum {
 public:
  explicit SloppyCumsum(const Routine& naive) : ChangedCumsum("cpu/sloppy", naive) {}

 private:
  std::unique_ptr<Kernel> changed(std::unique_ptr<Kernel> work) const override {
    return std::make_unique<SloppyKernel>(std::move(work));
  }
};

// cumsum, times a factor that may change. Counts how often its first number was a two.
struct Changing {
  std::atomic<float> factor = 1;
  std::atomic<int> twos = 0;
};

class ChangingKernel final : public Kernel {
 public:
  ChangingKernel(std::unique_ptr<Kernel> work, Changing& state)
      : work_(std::move(work)), state_(state) {}
  Status run(Context& context) const noexcept override {
    SN_RETURN_IF_ERROR(work_->run(context));
    state_.twos += context.input(0).as<float>()[0] == 2;
    const TensorView& y = context.output(0);
    for (std::int64_t i = 0; i < y.elements(); ++i) y.as_mutable<float>()[i] *= state_.factor;
    return {};
  }

 private:
  std::unique_ptr<Kernel> work_;
  Changing& state_;
};

class ChangingCumsum final : public ChangedCumsum {
 public:
  ChangingCumsum(const Routine& naive, Changing& state)
      : ChangedCumsum("cpu/changing", naive), state_(state) {}

 private:
  std::unique_ptr<Kernel> changed(std::unique_ptr<Kernel> work) const override {
    return std::make_unique<ChangingKernel>(std::move(work), state_);
  }

  Changing& state_;
};

std::shared_ptr<Runtime> one_thread() {
  NetOptions options;
  options.threads = 1;
  return make_runtime(options).value();
}

// x [1 x 64] → two running sums, one after the other.
std::shared_ptr<const Graph> running_sums() {
  SmallNetBuilder b;
  TensorId x = b.input("x", DynamicShape(Shape{1, 64}));
  Tensor axis = Tensor::create(DataType::int64, Shape{1}).value();
  axis.mutable_values<std::int64_t>()[0] = 1;
  const TensorId along = b.graph.add_constant("axis", std::move(axis));
  x = b.layer("cumsum", "first", {x, along});
  b.graph.outputs = {b.layer("cumsum", "second", {x, along})};
  return finished(std::move(b.graph));
}

Tensor filled(const Shape& shape, float value) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  std::ranges::fill(tensor.mutable_values<float>(), value);
  return tensor;
}

// x → conv → clip, as exporters write it; or what is left if a pass forgets the clip. The result
// has one name in both.
std::shared_ptr<const Graph> clipped_conv(bool clipped) {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 3, 8, 8}));
  TensorId y = b.conv(clipped ? "conv" : "clipped", x, 3, 8, 3);
  if (clipped) {
    Params params;
    params.set("op", std::string("clip"));
    params.set("alpha", 0.0);
    params.set("beta", 1.0);
    y = b.layer("unary", "clipped", {y}, params);
  }
  b.graph.outputs = {b.unary("tanh", "end", y)};
  return finished(std::move(b.graph));
}

// x → avg_pool2 of 2 x 2, rounded to levels of kLevel; the means are moved by `shift` before that.
constexpr float kLevel = 0.0183f;
std::shared_ptr<const Graph> rounded_means(float shift) {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 16, 32, 32}));
  Params pool;
  pool.set("kernel", std::vector<std::int64_t>{2, 2});
  pool.set("strides", std::vector<std::int64_t>{2, 2});
  b.graph.outputs = {b.layer("avg_pool2", "means", {x}, pool)};
  const auto add = [&](UnaryOp kind, float alpha, float beta) {
    PostOp op;
    op.unary = kind;
    op.alpha = alpha;
    op.beta = beta;
    b.graph.layers()[0].post_ops.push_back(op);
  };
  if (shift != 0) add(UnaryOp::linear, 1, shift);
  add(UnaryOp::fake_quantize, kLevel, -128);
  return finished(std::move(b.graph));
}

VerificationJob verification_of(const std::shared_ptr<Runtime>& runtime,
                                std::shared_ptr<const Graph> model,
                                const std::shared_ptr<const Graph>& tuned, const RoutinePath& path,
                                const Shape& shape) {
  VerificationJob job;
  job.runtime = runtime;
  job.is_same_graph = model == tuned;
  job.model = std::move(model);
  job.shapes = {shape};
  job.tuned = build_plan(runtime, tuned, job.shapes, path, nullptr).value();
  return job;
}

TuneOptions quick(const TemporaryFolder& folder, std::vector<std::string> schemas) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.schemas = std::move(schemas);
  return options;
}

// To tune running_sums(), verified on ones.
TuneJob sums_job(const std::shared_ptr<Runtime>& runtime, const TuneOptions& options) {
  TuneJob job;
  job.runtime = runtime;
  job.graph = job.model = running_sums();
  job.is_model = true;
  job.shapes = {Shape{1, 64}};
  job.inputs = {filled({1, 64}, 1)};
  job.verification_inputs = {job.inputs};
  job.options = &options;
  job.rules = rules_of(options);
  return job;
}

bool mentions(const std::vector<std::string>& warnings, const char* text) {
  return std::ranges::any_of(warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("verification: numbers too small for float16 are rounded away, which is explained",
          "[verification]") {
  const auto runtime = one_thread();
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 64}));
  b.graph.outputs = {b.unary("tanh", "end", b.scaled("small", x, 1e-8f))};
  const auto graph = finished(std::move(b.graph));
  RoutinePath path;
  path.layers[graph->layers()[1].id] = {
      "cpu:float16/direct", {}, FormatTuple::parse("float16 -> float16").value(), 0};
  const VerificationJob job = verification_of(runtime, graph, graph, path, Shape{1, 64});
  REQUIRE(job.tuned->describe().find("cpu:float16") != std::string::npos);
  const std::vector<std::vector<Tensor>> ones = {{filled({1, 64}, 1)}};
  const Result<double> verified = verify_plan(job, ones);
  INFO(verified.status().message());
  CHECK(verified.ok());
}

TEST_CASE("verification: a routine that is one per cent off is named with its layer",
          "[verification]") {
  const auto runtime = one_thread();
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(registry.add(std::make_unique<SloppyCumsum>(*registry.find("cumsum", "cpu/naive"))).ok());
  const auto graph = running_sums();
  RoutinePath path;
  const FormatTuple formats = FormatTuple::parse("float32,int64 -> float32").value();
  for (const Layer& layer : graph->layers()) path.layers[layer.id] = {"cpu/sloppy", {}, formats, 0};
  const VerificationJob job = verification_of(runtime, graph, graph, path, Shape{1, 64});
  // Ones add up to more than what the routine was tried on, but in the second layer only.
  const std::vector<std::vector<Tensor>> ones = {{filled({1, 64}, 1)}};
  const Result<double> verified = verify_plan(job, ones);
  REQUIRE_FALSE(verified.ok());
  CHECK(verified.status().code() == StatusCode::internal);
  CHECK(verified.status().message().find("layer 'second' (cpu/sloppy)") != std::string::npos);
  const std::vector<std::vector<Tensor>> zeros = {{filled({1, 64}, 0)}};
  CHECK(verify_plan(job, zeros).ok());
}

TEST_CASE(
    "verification: a net whose fastest routine is one per cent off is not tuned and stays as it "
    "was",
    "[verification]") {
  const SettableClock clock;
  const TemporaryFolder folder;
  const auto runtime = one_thread();
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(registry.add(std::make_unique<SloppyCumsum>(*registry.find("cumsum", "cpu/naive"))).ok());
  REQUIRE(registry
              .add(std::make_unique<TimedCumsum>("cpu/slow", *registry.find("cumsum", "cpu/naive"),
                                                 200))
              .ok());
  const TuneOptions options = quick(folder, {"cpu:float32"});
  const TuneJob job = sums_job(runtime, options);
  const Result<TuneResult> result = tune(job);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().message().find("layer 'second' (cpu/sloppy)") != std::string::npos);
}

TEST_CASE(
    "verification: what was verified before is tried again, and verified again if it does not hold",
    "[verification]") {
  const SettableClock clock;
  const TemporaryFolder folder;
  const auto runtime = one_thread();
  auto& registry = const_cast<Registry&>(runtime->registry());
  const Routine& naive = *registry.find("cumsum", "cpu/naive");
  REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/slow", naive, 200)).ok());
  Changing routine;
  REQUIRE(registry.add(std::make_unique<ChangingCumsum>(naive, routine)).ok());
  const TuneOptions options = quick(folder, {"cpu:float32"});
  TuneJob job = sums_job(runtime, options);
  job.verification_inputs.push_back({filled({1, 64}, 2)});
  // What was verified on the inputs that begin with a two.
  const auto is_verified_on_twos = [&] {
    const Result<TuneResult> result = tune(job);
    INFO(result.status().message());
    REQUIRE(result.ok());
    CHECK(result->report.verification_inputs == 2);
    for (const auto& [id, choice] : result->path.layers) CHECK(choice.routine == "cpu/changing");
    return routine.twos.exchange(0) > 0;
  };
  CHECK(is_verified_on_twos());
  CHECK_FALSE(is_verified_on_twos());

  SECTION("with other inputs beside") {
    job.verification_inputs[0] = {filled({1, 64}, 3)};
    CHECK(is_verified_on_twos());
  }
  SECTION("without the cache") {
    TuneOptions without = options;
    without.cache.disabled = true;
    job.options = &without;
    CHECK(is_verified_on_twos());
  }
  SECTION("when the routine computes otherwise than it did") {
    routine.factor = 1.01f;
    const Result<TuneResult> result = tune(job);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().message().find("(cpu/changing)") != std::string::npos);
  }
}

TEST_CASE("verification: a pass that drops a clamp is named with the layer that lost it",
          "[verification]") {
  const auto runtime = one_thread();
  const auto model = clipped_conv(true), tuned = clipped_conv(false);
  const std::vector<std::vector<Tensor>> inputs = {{random_image(3, {1, 3, 8, 8})}};
  const Result<double> wrong =
      verify_plan(verification_of(runtime, model, tuned, {}, Shape{1, 3, 8, 8}), inputs);
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.status().message().find("layer 'clipped'") != std::string::npos);
  const Result<double> right =
      verify_plan(verification_of(runtime, model, model, {}, Shape{1, 3, 8, 8}), inputs);
  REQUIRE(right.ok());
  CHECK(*right == 0);
}

TEST_CASE("verification: a tensor that the model has not is judged on each inputs by itself",
          "[verification]") {
  // The tuned graph transposes last: the model has no values between its layers.
  SmallNetBuilder b, moved;
  Params perm;
  perm.set("perm", std::vector<std::int64_t>{1, 0});
  const TensorId x = b.input("x", DynamicShape(Shape{4, 6}));
  b.graph.outputs = {b.unary("square", "y", b.layer("transpose", "t", {x}, perm))};
  const TensorId z = moved.input("x", DynamicShape(Shape{4, 6}));
  moved.graph.outputs = {moved.layer("transpose", "y", {moved.unary("square", "z", z)}, perm)};
  VerificationJob job = verification_of(one_thread(), finished(std::move(b.graph)),
                                        finished(std::move(moved.graph)), {}, Shape{4, 6});
  const std::vector<std::vector<Tensor>> inputs = {{filled({4, 6}, 2)}, {filled({4, 6}, 3)}};
  const Result<double> verified = verify_plan(job, inputs);
  CHECK(verified.status().message() == "");
  int sets = 0;
  job.on_set = [&] { return ++sets < 1; };
  CHECK(verify_plan(job, inputs).ok());
  CHECK(sets == 1);
}

TEST_CASE("verification: a routine that is off on what the model has not is named",
          "[verification]") {
  // As above, where the layer that the model has not takes a routine that is one per cent off.
  const auto runtime = one_thread();
  SmallNetBuilder b, moved;
  Params perm;
  perm.set("perm", std::vector<std::int64_t>{1, 0});
  const auto sums = [&](SmallNetBuilder& net, const char* name, TensorId from, std::int64_t axis) {
    Tensor along = Tensor::create(DataType::int64, Shape{1}).value();
    along.mutable_values<std::int64_t>()[0] = axis;
    return net.layer("cumsum", name, {from, net.graph.add_constant("axis", std::move(along))});
  };
  const TensorId x = b.input("x", DynamicShape(Shape{4, 6}));
  b.graph.outputs = {sums(b, "y", b.layer("transpose", "t", {x}, perm), 1)};
  const TensorId z = moved.input("x", DynamicShape(Shape{4, 6}));
  moved.graph.outputs = {moved.layer("transpose", "y", {sums(moved, "z", z, 0)}, perm)};
  const auto tuned = finished(std::move(moved.graph));
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(registry.add(std::make_unique<SloppyCumsum>(*registry.find("cumsum", "cpu/naive"))).ok());
  RoutinePath path;
  const FormatTuple formats = FormatTuple::parse("float32,int64 -> float32").value();
  path.layers[tuned->layers()[0].id] = {"cpu/sloppy", {}, formats, 0};
  const VerificationJob job =
      verification_of(runtime, finished(std::move(b.graph)), tuned, path, Shape{4, 6});
  const std::vector<std::vector<Tensor>> inputs = {{filled({4, 6}, 4)}};
  CHECK_THAT(verify_plan(job, inputs).status().message(), Catch::Contains("'z'"));
}

TEST_CASE("verification: the report of a float32 tuning states the difference from the model",
          "[verification]") {
  const TemporaryFolder folder;
  NetOptions net_options;
  net_options.threads = 1;
  Net net = NetAccess::from_graph(small_graph(), net_options).value();
  const TuneReport report = net.tune(quick(folder, {"cpu:float32"})).value();
  CHECK(report.verification_inputs == 3);
  CHECK_FALSE(report.verified_on_samples);
  CHECK(report.difference < 1e-4);
}

TEST_CASE("verification: layers whose values float16 cannot hold stay in other types",
          "[verification]") {
  const TemporaryFolder folder;
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 3, 12, 12}));
  // Up to a hundred thousand between the two factors.
  const TensorId loud = b.conv("loud", b.scaled("up", image, 1e5f), 3, 16, 3);
  const TensorId soft = b.conv("soft", b.scaled("down", loud, 1e-5f), 16, 16, 3);
  b.graph.outputs = {soft};
  NetOptions net_options;
  net_options.threads = 1;
  Net net = NetAccess::from_graph(b.graph, net_options).value();
  const Tensor expected = net.run({{"image", random_image(1)}}).value().at("soft:0");
  TuneOptions options = quick(folder, {"cpu:float16"});
  SECTION("seen on samples") {
    for (std::uint32_t s = 0; s < 4; ++s)
      options.calibration.push_back({{"image", random_image(10 + s)}});
  }
  SECTION("seen on inputs that were made") {}
  const TuneReport report = net.tune(options).value();
  CHECK(mentions(report.warnings, "float16 routines are left out"));
  CHECK(mentions(report.warnings, "synthetic inputs only") == options.calibration.empty());
  const Tensor actual = net.run({{"image", random_image(1)}}).value().at("soft:0");
  for (std::size_t i = 0; i < actual.values<float>().size(); ++i)
    CHECK(actual.values<float>()[i] == Approx(expected.values<float>()[i]).margin(0.05));
}

TEST_CASE("verification: layers whose values bfloat16 cannot hold stay in other types",
          "[verification]") {
  const TemporaryFolder folder;
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 3, 12, 12}));
  // float32's largest number, as masks have it, would be infinite.
  const TensorId loud =
      b.unary("relu", "loud", b.scaled("up", image, std::numeric_limits<float>::max()));
  b.graph.outputs = {b.conv("soft", b.scaled("down", loud, 1e-38f), 3, 16, 3)};
  NetOptions net_options;
  net_options.threads = 1;
  Net net = NetAccess::from_graph(b.graph, net_options).value();
  const Tensor expected = net.run({{"image", random_image(1)}}).value().at("soft:0");
  TuneOptions options = quick(folder, {"cpu:bfloat16"});
  for (std::uint32_t s = 0; s < 4; ++s)
    options.calibration.push_back({{"image", random_image(10 + s)}});
  const TuneReport report = net.tune(options).value();
  CHECK(mentions(report.warnings, "bfloat16 routines are left out"));
  const Tensor actual = net.run({{"image", random_image(1)}}).value().at("soft:0");
  for (std::size_t i = 0; i < actual.values<float>().size(); ++i)
    CHECK(actual.values<float>()[i] == Approx(expected.values<float>()[i]).margin(0.5));
}

TEST_CASE("verification: a layer that 16 bits get wrong on random inputs is computed in float32",
          "[verification]") {
  const TemporaryFolder folder;
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{2, 64}));
  // Zero in every run of the net, beyond float16 where the layer is measured alone.
  Tensor zeros = Tensor::create(DataType::float32, Shape{64}).value();
  std::ranges::fill(zeros.mutable_values<float>(), 0.0f);
  const TensorId zero = b.mul("zero", x, b.graph.add_constant("zeros", std::move(zeros)));
  b.graph.outputs = {b.scaled("first", zero, 1e9f), b.scaled("second", zero, 1e9f)};
  Net net = NetAccess::from_graph(b.graph, {}).value();
  const auto report = net.tune(quick(folder, {"cpu:float16"}));
  INFO(report.status().message());
  REQUIRE(report.ok());
  for (const TunedLayer& row : report->layers)
    if (row.layer == "first" || row.layer == "second")
      CHECK_THAT(row.routine, !Catch::Contains("float16"));
}

TEST_CASE("verification: a cast to 16 bits and back rounds and overflows in float32 and float16",
          "[verification]") {
  const TemporaryFolder folder;
  for (const char* type : {"float16", "bfloat16"}) {
    SmallNetBuilder b;
    const TensorId x = b.input("x", DynamicShape(Shape{4}));
    Params there, back;
    there.set("to", std::string(type));
    back.set("to", std::string("float32"));
    b.graph.outputs = {
        b.layer("cast", "back", {b.layer("cast", "there", {b.scaled("x3", x, 3)}, there)}, back)};
    Net net = NetAccess::from_graph(b.graph, {}).value();
    Tensor numbers = Tensor::create(DataType::float32, Shape{4}).value();
    const float values[] = {0.1f, 30000.0f, -70000.0f, 1.0009f};
    std::copy(std::begin(values), std::end(values), numbers.mutable_values<float>().begin());
    const Tensor before = net.run({{"x", numbers}}).value().at("back:0");
    using Schemas = std::vector<std::string>;
    for (const Schemas& schemas :
         {Schemas{"cpu:float32"}, Schemas{"cpu:float16"}, Schemas{"cpu:float32", "cpu:float16"}}) {
      CAPTURE(type, schemas);
      TuneOptions options = quick(folder, schemas);
      // Where float16 is allowed, a sample says what it cannot hold.
      if (schemas != Schemas{"cpu:float32"}) options.calibration = {{{"x", numbers}}};
      REQUIRE(net.tune(options).ok());
      const Tensor after = net.run({{"x", numbers}}).value().at("back:0");
      for (std::size_t i = 0; i < 4; ++i)
        CHECK(before.values<float>()[i] == after.values<float>()[i]);
    }
  }
}

TEST_CASE("verification: inputs that decide about shapes get values that the net runs on",
          "[verification]") {
  const TemporaryFolder folder;
  SmallNetBuilder b;
  const auto counts = [&](const char* name, std::int64_t size) {
    const TensorId id = b.input(name, DynamicShape(Shape{size}));
    b.graph.tensor(id).type = DataType::int64;
    return id;
  };
  const TensorId x = b.input("x", DynamicShape(Shape{4, 5}));
  SECTION("slice") {
    b.graph.outputs = {b.layer(
        "slice", "slice",
        {x, counts("starts", 1), counts("ends", 1), counts("axes", 1), counts("steps", 1)})};
  }
  SECTION("expand") {
    b.graph.outputs = {b.layer("expand", "expand", {x, counts("shape", 3)})};
  }
  SECTION("tile") {
    b.graph.outputs = {b.layer("tile", "tile", {x, counts("repeats", 2)})};
  }
  SECTION("reshape") {
    b.graph.outputs = {b.layer("reshape", "reshape", {x, counts("shape", 2)})};
  }
  Net net = NetAccess::from_graph(b.graph, {}).value();
  const Result<TuneReport> report = net.tune(quick(folder, {"cpu:float32"}));
  REQUIRE(report.ok());
  CHECK(report->verification_inputs == 3);
}

TEST_CASE("verification: sets of inputs that are known to run are made again without a run",
          "[verification]") {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 3, 4, 4}));
  b.graph.outputs = {b.unary("relu", "y", x)};
  const auto graph = finished(std::move(b.graph));
  const std::vector<Shape> shapes = {Shape{1, 3, 4, 4}};
  const SyntheticInputs tried = make_synthetic_inputs(one_thread(), graph, shapes).value();
  REQUIRE(tried.sets.size() == 3);
  CHECK(tried.usable == 0b111);
  const SyntheticInputs known = make_synthetic_inputs(one_thread(), graph, shapes, 0b101u).value();
  REQUIRE(known.sets.size() == 2);
  CHECK(known.usable == 0b101);
  const auto are_equal = [](const Tensor& one, const Tensor& other) {
    return std::ranges::equal(one.values<float>(), other.values<float>());
  };
  CHECK(are_equal(known.sets[0][0], tried.sets[0][0]));
  CHECK(are_equal(known.sets[1][0], tried.sets[2][0]));

  // Nothing can be made that this net runs on: sets that are said to run are not tried.
  const auto never = finished(graph_without_synthetic_inputs());
  const std::vector<Shape> pairs = {Shape{2}, Shape{2}};
  CHECK(make_synthetic_inputs(one_thread(), never, pairs)->sets.empty());
  CHECK(make_synthetic_inputs(one_thread(), never, pairs, 0b010u)->sets.size() == 1);
}

TEST_CASE("verification: a net that runs on no synthetic inputs keeps default choices and says so",
          "[verification]") {
  const TemporaryFolder folder;
  Net net = NetAccess::from_graph(graph_without_synthetic_inputs(), {}).value();
  const Result<TuneReport> report = net.tune(quick(folder, {"cpu:float32"}));
  REQUIRE(report.ok());
  CHECK(mentions(report->warnings, "the net failed on all synthetic inputs"));
  CHECK(net.tuned_paths().empty());
}

TEST_CASE("verification: means of levels halfway between two may be rounded to either",
          "[verification]") {
  const auto runtime = one_thread();
  const Shape shape = {1, 16, 32, 32};
  Tensor x = random_image(5, shape);
  for (float& value : x.mutable_values<float>())
    value = kLevel * static_cast<float>(std::nearbyint(100 * value));
  const std::vector<std::vector<Tensor>> inputs = {{x}};
  const auto model = rounded_means(0);
  RoutinePath path;
  path.layers[model->layers()[0].id] = {
      "cpu:float32:nhwc/direct", {}, FormatTuple::parse("float32:nhwc -> float32:nhwc").value(), 0};
  CHECK(
      verify_plan(verification_of(runtime, model, model, path, shape), inputs).status().message() ==
      "");
  // Three quarters of a level more: a quarter of the means are rounded to another level, rightly.
  const Result<double> moved = verify_plan(
      verification_of(runtime, model, rounded_means(0.75f * kLevel), path, shape), inputs);
  REQUIRE_FALSE(moved.ok());
  CHECK_THAT(moved.status().message(), Catch::Contains("layer 'means'"));
}

TEST_CASE("verification: a sum that cancels may be as far off as rounding its terms makes it",
          "[verification]") {
  const auto runtime = one_thread();
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 1000}));
  Params mean;
  mean.set("op", std::string("mean"));
  Params difference;
  difference.set("op", std::string("sub"));
  const TensorId centred =
      b.layer("binary", "centred", {x, b.layer("reduce", "mean", {x}, mean)}, difference);
  b.graph.outputs = {b.layer("reduce", "zero", {centred}, mean)};
  const auto graph = finished(std::move(b.graph));
  RoutinePath path;
  path.layers[graph->layers()[2].id] = {
      "cpu/direct", {}, FormatTuple::parse("float32 -> float32").value(), 0};
  const std::vector<std::vector<Tensor>> inputs = {{random_image(3, {1, 1000})}};
  CHECK(verify_plan(verification_of(runtime, graph, graph, path, Shape{1, 1000}), inputs)
            .status()
            .message() == "");
}

TEST_CASE("verification: an element that is wrong in the tail is named with its layer",
          "[verification]") {
  const auto runtime = one_thread();
  const PlantedFault& fault = kPlantedFaults[0];  // softplus, 0 below -13
  REQUIRE(const_cast<Registry&>(runtime->registry())
              .add(std::make_unique<PlantedUnary>(fault, true))
              .ok());
  SmallNetBuilder b;
  const Shape shape{1, 64};
  b.graph.outputs = {b.unary(to_string(fault.op), "positive", b.input("x", DynamicShape(shape)))};
  const auto graph = finished(std::move(b.graph));
  RoutinePath path;
  path.layers[graph->layers()[0].id] = {
      fault.name, {}, FormatTuple::parse("float32 -> float32").value(), 0};
  const VerificationJob job = verification_of(runtime, graph, graph, path, shape);
  const std::vector<std::vector<Tensor>> middle = {{random_image(3, shape)}};
  CHECK(verify_plan(job, middle).status().message() == "");
  std::vector<std::vector<Tensor>> tail = {{random_image(3, shape)}};
  tail[0][0].mutable_values<float>()[5] = -20;
  const Result<double> wrong = verify_plan(job, tail);
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.status().message(), Catch::Contains("layer 'positive' (cpu/softplus_ends)"));
}
