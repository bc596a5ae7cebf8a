// Files written by earlier versions keep loading, to the same graph and the same outputs.
//
// tests/data/golden_vN.dnn is written once, when format N is new:
//   softneuro_tests "[.make_golden]"
// and never again: what fails here is the reader, or a layer type that has changed its meaning.
//
// golden_plain.dnn, golden_tuned.dnn and golden_packed.dnn hold one small CNN as `softneuro
// import`, `tune` and `tune --packed` wrote it, without library plugins, with
// SOFTNEURO_MAX_ISA=avx2 and
// --threads 1. They stay as they are, too.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/base/cpu.h"
#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/packed_cache.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "support/graph_compare.h"
#include "support/skip.h"

using namespace softneuro;

namespace {

std::string golden_path() {
  return test::source_dir() + "/tests/data/golden_v1.dnn";
}

// Small multiples of 1/8 that any machine computes with exactly.
Tensor weights(const Shape& shape, int seed) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  for (float& value : tensor.mutable_values<float>()) {
    seed = (seed * 1103 + 377) % 65521;
    value = static_cast<float>(seed % 33 - 16) / 8;
  }
  return tensor;
}

class Builder {
 public:
  TensorId input(const char* name, DynamicShape shape) {
    const TensorId id = graph.add_tensor({.name = name, .type = DataType::float32, .shape = shape});
    graph.inputs.push_back(id);
    return id;
  }
  Layer& layer(const char* type, const char* name, std::vector<TensorId> inputs) {
    const LayerType* const known = builtin_layer_types().find(type);
    REQUIRE(known != nullptr);
    const TensorId output = graph.add_tensor({.name = std::string(name) + "_out"});
    last = output;
    return graph.add_layer(*known, name, std::move(inputs), {output});
  }
  Graph graph;
  TensorId last = kNoTensor;
};

// image [n,2,6,6] → conv + bias + relu, + a residual sum → pool → dense → log-softmax
Graph golden_graph() {
  Builder b;
  b.graph.name = "golden 1 – größer";
  b.graph.applied_passes = {"fold_constants/1", "fuse_post_ops/2"};
  const TensorId image = b.input("image", {Dim("n"), Dim(2), Dim(6), Dim(6)});
  const TensorId bias = b.graph.add_constant("bias", weights(Shape{3}, 1));
  const TensorId w = b.graph.add_constant("conv_w", weights(Shape{3, 2, 3, 3}, 2));
  const TensorId scale = b.graph.add_constant("scale", weights(Shape{3, 1, 1}, 3));
  Layer& conv = b.layer("conv2", "conv", {image, w, bias});
  conv.params.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  conv.params.set("strides", std::vector<std::int64_t>{1, 1});
  conv.sources = {"Conv_0", "Relu_1", "Mul_2"};
  conv.inputs.push_back(scale);
  PostOp relu, mul;
  relu.unary = UnaryOp::clip;
  relu.alpha = 0;
  relu.beta = 6;
  mul.kind = PostOp::Kind::binary;
  mul.binary = BinaryOp::mul;
  mul.input = 3;
  mul.swapped = true;
  conv.post_ops = {relu, mul};
  const TensorId conv_out = b.last;
  Quantization q;
  q.axis = 1;
  q.scales = {0.5f, 0.25f, 2.0f};
  q.zero_points = {0, -3, 7};
  b.graph.tensor(conv_out).quantization = q;

  Layer& pool = b.layer("max_pool2", "pool", {conv_out});
  pool.params.set("kernel", std::vector<std::int64_t>{2, 2});
  pool.params.set("strides", std::vector<std::int64_t>{2, 2});
  const TensorId pooled = b.last;
  b.layer("flatten", "flat", {pooled});
  const TensorId flat = b.last;
  const TensorId dense_w = b.graph.add_constant("dense_w", weights(Shape{27, 4}, 4));
  b.layer("dense", "dense", {flat, dense_w, b.graph.add_constant("none", weights(Shape{4}, 5))});
  Layer& softmax = b.layer("softmax", "softmax", {b.last});
  softmax.params.set("log", std::int64_t{1});
  b.graph.outputs = {b.last, pooled};
  b.graph.set_next_layer_id(40);
  for (Layer& layer : b.graph.layers()) REQUIRE(layer.type->check_params(layer.params).ok());
  REQUIRE(b.graph.verify(builtin_layer_types()).message() == "");
  REQUIRE(b.graph.infer_shapes().message() == "");
  return b.graph;
}

std::vector<float> output_of(const Net& net) {
  const NamedTensors outputs = net.run({{"image", weights(Shape{1, 2, 6, 6}, 9)}}).value();
  const Tensor& scores = outputs.at("softmax_out");
  const auto values = scores.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("dnn: write the golden file", "[.make_golden]") {
  REQUIRE(save_dnn(golden_graph(), golden_path()).message() == "");
  for (const float value : output_of(Net::load(golden_path()).value())) WARN(value);
}

TEST_CASE("dnn: the golden file of format 1 loads to the same graph and outputs") {
  const Graph expected = golden_graph();
  const Result<DnnContents> loaded = load_dnn_contents(golden_path(), builtin_layer_types());
  REQUIRE(loaded.status().message() == "");
  REQUIRE(test::difference(expected, loaded->graph) == "");
  const std::vector<float> scores = output_of(Net::load(golden_path()).value());
  const float known[] = {-7.76261f, -5.21769f, -3.20475f, -0.0475258f};
  REQUIRE(scores.size() == std::size(known));
  for (std::size_t i = 0; i < scores.size(); ++i)
    REQUIRE(scores[i] == Approx(known[i]).epsilon(1e-5).margin(1e-5));
}

TEST_CASE("load: plain, tuned and packed files of an earlier version compute what they did",
          "[golden]") {
  constexpr float kScores[] = {0.1452176f,  0.1233465f,  0.1304575f, 0.05801065f, 0.06405708f,
                               0.09585112f, 0.07180061f, 0.1182993f, 0.09796055f, 0.09499905f};
  // Winograd's transforms and direct sums differ by some units in the last place.
  constexpr float kTolerance = 1e-6f;
  NetOptions options;
  options.threads = 1;
  options.plugins = {"none"};
  for (const char* const name : {"golden_plain", "golden_tuned", "golden_packed"}) {
    INFO(name);
    const Net net = Net::load(test::source_dir() + "/tests/data/" + name + ".dnn", options).value();
    const Shape shape{1, 3, 24, 24};
    const NamedTensors outputs = net.run({{"image", weights(shape, 9)}}).value();
    const auto scores = outputs.at("scores").values<float>();
    REQUIRE(scores.size() == std::size(kScores));
    for (std::size_t i = 0; i < scores.size(); ++i)
      CHECK(std::abs(scores[i] - kScores[i]) <= kTolerance);
    // Choices of the path that are not default ones, and the adapt that they need, where its
    // instructions are this processor's.
    const std::string plan = net.plan({{"image", shape}}).value()->describe();
    const bool tuned =
        name != std::string("golden_plain") && vector_instructions(machine_name()) == "avx2";
    CHECK((plan.find("cpu:float32:nhwc/depthwise") != std::string::npos) == tuned);
    CHECK((plan.find("adapt image@float32:nhwc") != std::string::npos) == tuned);
  }
}

TEST_CASE("load: packed weights of an earlier version are those that kernels ask for", "[golden]") {
  if (to_string(usable_features()) != "avx2") SN_SKIP("needs SOFTNEURO_MAX_ISA=avx2 on x86-64");
  NetOptions options;
  options.threads = 1;
  options.plugins = {"none"};
  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  const DnnContents contents =
      load_dnn_contents(test::source_dir() + "/tests/data/golden_packed.dnn", builtin_layer_types())
          .value();
  REQUIRE(contents.paths.size() == 1);
  const Shape shape{1, 3, 24, 24};
  const auto graph = std::make_shared<const Graph>(contents.graph);
  const auto plan = build_plan(runtime, graph, {&shape, 1}, contents.paths[0], nullptr).value();
  const PlanImpl& impl = impl_of(*plan);
  std::size_t found = 0;
  for (const Step& step : impl.steps) {
    if (step.routine == nullptr) continue;
    const ImplementationPtr made =
        runtime->routine_context()
            .implement(*step.routine, problem_of(impl, *step.layer).value())
            .value();
    found += contents.packed.count(
        PackedCache::key_of(*step.layer, *made, made->packing(step.params).value()));
  }
  CHECK(found == contents.packed.size());
  CHECK(found >= 4);  // the convolutions
}
