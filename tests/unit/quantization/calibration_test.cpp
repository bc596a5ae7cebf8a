// Calibration: from samples to one quantisation per tensor, and what it says of bad samples.
#include "quantization/calibration.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "net/net_access.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using test::GraphBuilder;

namespace {

Tensor random_tensor(const Shape& shape, unsigned seed, float scale = 1) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  std::mt19937 random(seed);
  for (float& value : tensor.mutable_values<float>())
    value = scale * (static_cast<float>(random() % 2001) / 1000 - 1);
  return tensor;
}

Tensor filled(const Shape& shape, float value) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  for (float& element : tensor.mutable_values<float>()) element = value;
  return tensor;
}

std::vector<NamedTensors> random_samples(const Shape& shape, std::size_t count) {
  std::vector<NamedTensors> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i].emplace("x", random_tensor(shape, static_cast<unsigned>(i + 1)));
  return samples;
}

// `samples` must outlive the callback.
CalibrationSamples samples_of(const std::vector<NamedTensors>& samples) {
  return [&samples](std::size_t i) -> Result<std::optional<NamedTensors>> {
    if (i >= samples.size()) return std::optional<NamedTensors>();
    return std::optional<NamedTensors>(samples[i]);
  };
}

// x[1,4,8,8] → conv (relu fused) → max pool → flatten → dense.
Graph small_net() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 4, 8, 8});
  TensorId y = b.layer("conv2", {x, b.random({6, 4, 3, 3}), b.random({6})},
                       {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  b.last().post_ops.push_back(PostOp{});  // relu
  y = b.layer(
      "max_pool2", {y},
      {{"kernel", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  y = b.layer("flatten", {y});
  y = b.layer("dense", {y, b.random({96, 5})});
  return b.finish({y});
}

Net net_of(Graph graph) {
  return NetAccess::from_graph(std::move(graph), {}).value();
}

bool warns(const CalibrationResult& result, std::string_view text) {
  for (const std::string& warning : result.warnings)
    if (warning.find(text) != std::string::npos) return true;
  return false;
}

TensorId output_of(const Graph& graph, std::string_view type) {
  for (const Layer& layer : graph.layers())
    if (layer.type->name == type) return layer.outputs[0];
  return kNoTensor;
}

}  // namespace

TEST_CASE("calibration: every real tensor gets a quantisation that fits", "[quantization]") {
  const Net net = net_of(small_net());
  const auto samples = random_samples({1, 4, 8, 8}, 8);
  CalibrationOptions options;
  options.range = RangeChoice::min_max;
  const CalibrationResult result = calibrate(net, samples_of(samples), options).value();
  CHECK(result.samples == 8);
  CHECK(result.warnings.empty());
  Graph graph = NetAccess::graph(net);
  REQUIRE(annotate(graph, result).ok());
  REQUIRE(graph.verify(builtin_layer_types()).ok());

  const TensorDef& x = graph.tensor(graph.inputs[0]);
  REQUIRE(x.quantization);
  CHECK(x.quantization->scales[0] == Approx(2.0 / 255).epsilon(0.01));
  CHECK(x.quantization->zero_points[0] == Approx(128).margin(1));
  // The fused relu: nothing below zero, so that all levels serve.
  const TensorDef& conv = graph.tensor(output_of(graph, "conv2"));
  REQUIRE(conv.quantization);
  CHECK_FALSE(conv.quantization->is_signed);
  CHECK(conv.quantization->zero_points[0] == 0);
  // What only moves has the levels of its source.
  for (const char* type : {"max_pool2", "flatten"}) {
    const TensorDef& moved = graph.tensor(output_of(graph, type));
    REQUIRE(moved.quantization);
    CHECK(moved.quantization->scales == conv.quantization->scales);
    CHECK(moved.quantization->zero_points == conv.quantization->zero_points);
  }
  REQUIRE(graph.tensor(output_of(graph, "dense")).quantization);
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).is_constant()) CHECK_FALSE(graph.tensor(id).quantization);
}

TEST_CASE("calibration: means of the channels, where a layer with weights reads them",
          "[quantization]") {
  const Net net = net_of(small_net());
  std::vector<NamedTensors> samples = random_samples({1, 4, 8, 8}, 3);
  double expected = 0;  // of channel 2
  for (const NamedTensors& sample : samples) {
    const auto values = sample.find("x")->second.values<float>();
    for (std::size_t i = 128; i < 192; ++i) expected += static_cast<double>(values[i]) / (3 * 64);
  }
  const CalibrationResult result = calibrate(net, samples_of(samples)).value();
  const Quantization& x = result.quantizations.find("x")->second;
  REQUIRE(x.channel_means.size() == 4);
  CHECK(x.channel_means[2] == Approx(expected).margin(1e-6));
  const Graph& graph = NetAccess::graph(net);
  const auto means = [&](const char* type) {
    return result.quantizations.find(graph.tensor(output_of(graph, type)).name)
        ->second.channel_means.size();
  };
  CHECK(means("flatten") == 96);   // dense reads its last axis
  CHECK(means("max_pool2") == 0);  // no weights behind it
}

TEST_CASE("calibration: tensors some at a time give the same", "[quantization]") {
  const Net net = net_of(small_net());
  const auto samples = random_samples({1, 4, 8, 8}, 4);
  CalibrationOptions little;
  little.max_bytes = 1;  // every tensor in a run of its own
  const auto all = calibrate(net, samples_of(samples)).value().quantizations;
  const auto some = calibrate(net, samples_of(samples), little).value().quantizations;
  REQUIRE(all.size() == some.size());
  CHECK(all.size() == 5);
  for (const auto& [name, q] : all) {
    INFO(name);
    CHECK(some.find(name)->second.scales == q.scales);
    CHECK(some.find(name)->second.zero_points == q.zero_points);
    CHECK(some.find(name)->second.channel_means == q.channel_means);
  }
}

TEST_CASE("calibration: concatenated tensors share levels unless that harms", "[quantization]") {
  for (const float factor : {2.0f, 100.0f}) {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{1, 4, 2, 2});
    const TensorId small = b.unary("sin", x);
    const TensorId large = b.unary("linear", x, factor, 0);
    const TensorId y = b.layer("concat", {small, large}, {{"axis", std::int64_t{1}}});
    const Net net = net_of(b.finish({y}));
    const auto samples = random_samples({1, 4, 2, 2}, 4);
    const CalibrationResult result = calibrate(net, samples_of(samples)).value();
    const auto scale = [&](TensorId id) {
      return result.quantizations.find(b.graph().tensor(id).name)->second.scales[0];
    };
    INFO(factor);
    CHECK((scale(small) == scale(large)) == (factor < 4));
    CHECK((scale(small) == scale(y)) == (factor < 4));
    CHECK(scale(y) >= scale(large));
  }
}

TEST_CASE("calibration: levels of a concatenation hold its constants", "[quantization]") {
  for (const double value : {3.0, 100.0}) {
    GraphBuilder b;
    const TensorId x = b.unary("sin", b.input("x", Shape{1, 4, 2, 2}));
    const TensorId c = b.random({1, 1, 2, 2}, value, value + 1);
    const TensorId y = b.layer("concat", {x, c}, {{"axis", std::int64_t{1}}});
    const Net net = net_of(b.finish({y}));
    const auto samples = random_samples({1, 4, 2, 2}, 4);
    const CalibrationResult result = calibrate(net, samples_of(samples)).value();
    const auto of = [&](TensorId id) {
      return result.quantizations.find(b.graph().tensor(id).name)->second;
    };
    INFO(value);
    CHECK(of(y).scales[0] * static_cast<float>(255 - of(y).zero_points[0]) >=
          static_cast<float>(value));
    CHECK((of(x).scales[0] == of(y).scales[0]) == (value < 10));
  }
}

TEST_CASE("calibration: the model's own quantisation stands, also for what moves",
          "[quantization]") {
  Graph graph = small_net();
  const TensorId conv = output_of(graph, "conv2");
  graph.tensor(conv).quantization = Quantization{true, -1, {0.5f}, {3}, {}};
  const Net net = net_of(graph);
  const auto samples = random_samples({1, 4, 8, 8}, 2);
  const CalibrationResult result = calibrate(net, samples_of(samples)).value();
  REQUIRE(annotate(graph, result).ok());
  for (const char* type : {"conv2", "max_pool2"}) {
    const Quantization& q = *graph.tensor(output_of(graph, type)).quantization;
    CHECK(q.is_signed);
    CHECK(q.scales[0] == 0.5f);
    CHECK(q.zero_points[0] == 3);
  }
}

TEST_CASE("calibration: samples that cannot be used are errors that name them", "[quantization]") {
  const Net net = net_of(small_net());
  std::vector<NamedTensors> samples = random_samples({1, 4, 8, 8}, 3);
  const auto error = [&] {
    return std::string(calibrate(net, samples_of(samples)).status().message());
  };
  SECTION("none") {
    samples.clear();
    CHECK(error().find("no sample") != std::string::npos);
  }
  SECTION("NaN") {
    samples[1]["x"].mutable_values<float>()[5] = NAN;
    CHECK(error().find("sample 1") != std::string::npos);
    CHECK(error().find("NaN") != std::string::npos);
  }
  SECTION("infinity") {
    samples[2]["x"].mutable_values<float>()[5] = -INFINITY;
    CHECK(error().find("sample 2: input 'x'") != std::string::npos);
  }
  SECTION("another shape") {
    samples[2]["x"] = random_tensor({1, 3, 8, 8}, 1);
    CHECK(error().find("sample 2") != std::string::npos);
    CHECK(error().find("1x3x8x8") != std::string::npos);
  }
  SECTION("another data type") {
    samples[0]["x"] = Tensor::create(DataType::int32, Shape{1, 4, 8, 8}).value();
    CHECK(error().find("int32") != std::string::npos);
  }
  SECTION("a missing input") {
    samples[1].clear();
    CHECK(error().find("sample 1: input 'x'") != std::string::npos);
  }
  SECTION("an input that the net does not have") {
    samples[1].emplace("z", filled({1}, 0));
    CHECK(error().find("'z'") != std::string::npos);
  }
}

TEST_CASE("calibration: garbage is reported", "[quantization]") {
  const Net net = net_of(small_net());
  std::vector<NamedTensors> samples = random_samples({1, 4, 8, 8}, 4);
  const auto result = [&] { return calibrate(net, samples_of(samples)).value(); };
  SECTION("all zero") {
    for (NamedTensors& sample : samples) sample["x"] = filled({1, 4, 8, 8}, 0);
    CHECK(warns(result(), "constant"));
    CHECK(warns(result(), "all 4 samples are the same"));
  }
  SECTION("one constant sample") {
    samples[3]["x"] = filled({1, 4, 8, 8}, 0.5f);
    CHECK(warns(result(), "constant (one value everywhere) in 1 of 4"));
  }
  SECTION("the same sample again and again") {
    for (NamedTensors& sample : samples) sample = samples[0];
    CHECK(warns(result(), "all 4 samples are the same"));
  }
  SECTION("scaled in different ways") {
    samples[2]["x"] = random_tensor({1, 4, 8, 8}, 77, 255);
    CHECK(warns(result(), "differ wildly"));
    CHECK(warns(result(), "sample 2"));
  }
  SECTION("a single one") {
    samples.resize(1);
    CHECK(warns(result(), "a single sample"));
  }
}

TEST_CASE("calibration: tensors that overflow stay in floating point", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{64});
  const TensorId big = b.unary("exp", b.unary("linear", x, 1000, 0));
  const TensorId y = b.unary("tanh", big);
  const Net net = net_of(b.finish({y}));
  const auto samples = random_samples({64}, 2);
  const CalibrationResult result = calibrate(net, samples_of(samples)).value();
  CHECK(warns(result, "NaN or infinities"));
  CHECK(result.quantizations.count(b.graph().tensor(big).name) == 0);
  CHECK(result.quantizations.count(b.graph().tensor(y).name) == 1);
}

TEST_CASE("calibration: of another net is refused", "[quantization]") {
  CalibrationResult result;
  result.quantizations.emplace("elsewhere", Quantization{false, -1, {1.0f}, {0}, {}});
  Graph graph = small_net();
  CHECK(annotate(graph, result).message().find("'elsewhere'") != std::string::npos);
}
