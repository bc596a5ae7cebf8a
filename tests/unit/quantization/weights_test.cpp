// Weights in 8 bits.
#include "cpu/qint8/weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "core/routine/evaluate.h"
#include "cpu/gemm/int8_tile.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using test::GraphBuilder;

namespace {

// The problem of the only layer of a graph, with x and the output quantised.
Problem problem_of(const Graph& graph, std::vector<float> means = {}) {
  const Layer& layer = graph.layers()[0];
  std::vector<TensorSpec> specs;
  for (const TensorId id : layer.inputs) {
    TensorSpec spec;
    if (id != kNoTensor) {
      const TensorDef& def = graph.tensor(id);
      spec.type = def.type;
      spec.shape = def.shape.to_shape();
      spec.constant = def.is_constant();
      spec.value = def.constant;
      spec.quantization = def.quantization;
    }
    specs.push_back(std::move(spec));
  }
  Problem problem = make_problem(layer, std::move(specs)).value();
  problem.inputs[0].type = DataType::qint8;
  problem.inputs[0].quantization = Quantization{false, -1, {0.1f}, {7}, std::move(means)};
  problem.outputs[0].type = DataType::qint8;
  problem.outputs[0].quantization = Quantization{false, -1, {0.1f}, {7}, {}};
  return problem;
}

}  // namespace

TEST_CASE("weights: per output channel, symmetric, largest is 127", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3});
  const TensorId w = b.reals({3, 2}, {1, -10, -0.5, 20, 0.25, 0});
  const Graph graph = b.finish({b.layer("dense", {x, w, b.reals({2}, {0.5, -1})})});
  const Problem problem = problem_of(graph);
  REQUIRE(takes_quantized_weights(problem).ok());
  const QuantizedWeights q = quantize_weights(problem).value();
  CHECK(q.outputs == 2);
  CHECK(q.depth == 3);
  CHECK(q.scales[0] == Approx(1.0 / 127));
  CHECK(q.scales[1] == Approx(20.0 / 127));
  CHECK(q.values == std::vector<std::int8_t>{127, -64, 32, -64, 127, 0});
  CHECK(q.bias == std::vector<float>{0.5f, -1});
}

TEST_CASE("weights: channels of nothing but zeros", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 2, 3, 3});
  const TensorId w = b.reals({2, 2, 1, 1}, {0, 0, 1e-42, 0});
  const Graph graph = b.finish({b.layer("conv2", {x, w})});
  const QuantizedWeights q = quantize_weights(problem_of(graph)).value();
  CHECK(q.values[0] == 0);
  for (const float scale : q.scales) {
    CHECK(scale > 0);
    CHECK(std::isfinite(scale));
  }
}

TEST_CASE("weights: the model's own integers are used", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 3});
  const TensorId w = b.reals({3, 2}, {0.5, 0.75, -1.5, 0.25, 2, -0.5});
  Graph graph = b.finish({b.layer("dense", {x, w})});
  SECTION("per channel, signed") {
    graph.tensor(w).quantization = Quantization{true, 1, {0.5f, 0.25f}, {0, 0}, {}};
    const QuantizedWeights q = quantize_weights(problem_of(graph)).value();
    CHECK(q.values == std::vector<std::int8_t>{1, -3, 4, 3, 1, -2});
    CHECK(q.scales == std::vector<float>{0.5f, 0.25f});
  }
  SECTION("per tensor, unsigned: less the zero point") {
    graph.tensor(w).quantization = Quantization{false, -1, {0.25f}, {130}, {}};
    const QuantizedWeights q = quantize_weights(problem_of(graph)).value();
    CHECK(q.values == std::vector<std::int8_t>{2, -6, 8, 3, 1, -2});
    CHECK(q.scales == std::vector<float>{0.25f, 0.25f});
  }
  SECTION("differences that need more than 8 bits are refused") {
    graph.tensor(w).quantization = Quantization{false, -1, {0.015625f}, {100}, {}};  // 2.0 is 128
    CHECK(takes_quantized_weights(problem_of(graph)).reason().find("do not fit") !=
          std::string::npos);
  }
  SECTION("scales along another axis are refused") {
    graph.tensor(w).quantization = Quantization{true, 0, {1, 1, 1}, {0, 0, 0}, {}};
    CHECK(takes_quantized_weights(problem_of(graph)).reason().find("do not fit") !=
          std::string::npos);
  }
}

// Without correction, rounding the weights shifts the mean of each output.
TEST_CASE("weights: bias correction keeps the expected output", "[quantization]") {
  for (const std::int64_t group : {1, 2}) {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{1, 4, 5, 5});
    const TensorId w = b.random({6, 4 / group, 3, 3});
    const Graph graph = b.finish({b.layer("conv2", {x, w}, {{"group", group}})});
    const std::vector<float> means = {10, -20, 30, 5};
    const QuantizedWeights q = quantize_weights(problem_of(graph, means)).value();
    const auto weights = graph.tensor(w).constant.values<float>();
    double uncorrected = 0;
    for (std::size_t m = 0; m < 6; ++m) {
      double real = 0, rounded = q.bias[m], bare = 0;
      const std::size_t depth = static_cast<std::size_t>(q.depth);
      for (std::size_t k = 0; k < depth; ++k) {
        const std::size_t channel =
            m / (6 / static_cast<std::size_t>(group)) * (4 / static_cast<std::size_t>(group)) +
            k / 9;
        real += static_cast<double>(means[channel]) * weights[m * depth + k];
        rounded += static_cast<double>(means[channel]) * q.scales[m] * q.values[m * depth + k];
        bare +=
            static_cast<double>(means[channel]) *
            (weights[m * depth + k] - static_cast<double>(q.scales[m]) * q.values[m * depth + k]);
      }
      CHECK(rounded == Approx(real).margin(1e-4));
      uncorrected = std::fmax(uncorrected, std::fabs(bare));
    }
    CHECK(uncorrected > 0.01);  // there was something to correct
    CHECK(quantize_weights(problem_of(graph)).value().bias[0] == 0);
  }
}

TEST_CASE("weights: what cannot be quantised is refused with a reason", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 3});
  const TensorId w = b.reals({3, 1}, {1, NAN, 2});
  const Graph graph = b.finish({b.layer("dense", {x, w})});
  Problem problem = problem_of(graph);
  CHECK(quantize_weights(problem).status().code() == StatusCode::unsupported);
  problem.inputs[0].quantization->axis = 1;
  CHECK_FALSE(takes_quantized_weights(problem).ok());
  problem = problem_of(graph);
  problem.inputs[1].constant = false;
  CHECK_FALSE(takes_quantized_weights(problem).ok());
}

TEST_CASE("weights: pairs keep their limit where the processor's tiles gain by it",
          "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 4, 3, 3});
  // [1][4][1][2]: channels 0 and 1 at kernel position 0 are 1 and 0.9, which are adjacent.
  const TensorId w = b.reals({1, 4, 1, 2}, {1, 0.9, 0.9, -1, 0.2, 0.1, -0.3, 0.3});
  const Graph graph = b.finish({b.layer("conv2", {x, w})});
  const QuantizedWeights q = quantize_weights(problem_of(graph)).value();
  if (int8_tile_ops().gains_by_pairs) {
    CHECK(q.scales[0] == Approx(1.9 / 128));
    CHECK(q.values == std::vector<std::int8_t>{67, 61, 61, -67, 13, 7, -20, 20});
  } else {
    CHECK(q.scales[0] == Approx(1.0 / 127));
    CHECK(q.values == std::vector<std::int8_t>{127, 114, 114, -127, 25, 13, -38, 38});
  }
}

TEST_CASE("weights: rounded pairs never exceed their limit", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 64});
  const TensorId w = b.random({64, 200});
  const Graph graph = b.finish({b.layer("dense", {x, w})});
  if (!int8_tile_ops().gains_by_pairs) {
    WARN("skipped: this processor's tiles gain nothing by it");
    return;
  }
  const QuantizedWeights q = quantize_weights(problem_of(graph)).value();
  int largest = 0;
  for (std::size_t i = 0; i < q.values.size(); i += 2)
    largest = std::max(largest, std::abs(q.values[i] + q.values[i + 1]));
  CHECK(largest == kInt8PairLimit);  // and some row makes use of it
}
