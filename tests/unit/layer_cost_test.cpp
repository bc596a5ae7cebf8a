// The rates of every profile stand on these counts.
#include "core/routine/layer_cost.h"

#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "support/graph_evaluator.h"
#include "support/one_layer.h"

using namespace softneuro;
using test::params;

namespace {

struct Input {
  DataType type;
  Shape shape;
};

LayerCost cost_of(const char* type, Params layer_params, std::vector<Input> inputs,
                  std::size_t outputs = 1) {
  Graph graph;
  std::vector<TensorId> in, out;
  std::vector<TensorSpec> specs;
  for (const Input& input : inputs) {
    const bool given = input.type != DataType::undefined;
    in.push_back(given ? graph.add_tensor({"x", input.type, input.shape, {}, {}}) : kNoTensor);
    TensorSpec spec;
    spec.type = input.type;
    spec.shape = input.shape;
    specs.push_back(std::move(spec));
  }
  for (std::size_t i = 0; i < outputs; ++i) out.push_back(graph.add_tensor({"y", {}, {}, {}, {}}));
  const LayerType* found = builtin_layer_types().find(type);
  REQUIRE(found != nullptr);
  const Layer& layer = graph.add_layer(*found, "layer", in, out, std::move(layer_params));
  const Result<Problem> problem = make_problem(layer, std::move(specs));
  INFO(problem.status().message());
  REQUIRE(problem.ok());
  return layer_cost(*problem);
}

constexpr DataType kFloat = DataType::float32;

}  // namespace

TEST_CASE("layer cost: convolutions count what meets each output, groups and padding included") {
  const Params same = params({{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const LayerCost plain =
      cost_of("conv2", same, {{kFloat, {2, 6, 5, 7}}, {kFloat, {8, 6, 3, 3}}, {kFloat, {8}}});
  CHECK(plain.macs == 2.0 * 8 * 5 * 7 * 6 * 9);
  CHECK(plain.bytes == 4.0 * (2 * 6 * 5 * 7 + 8 * 6 * 9 + 8 + 2 * 8 * 5 * 7));

  Params grouped = same;
  grouped.set("group", std::int64_t{2});
  CHECK(cost_of("conv2", grouped, {{kFloat, {2, 6, 5, 7}}, {kFloat, {8, 3, 3, 3}}}).macs ==
        2.0 * 8 * 5 * 7 * 3 * 9);
  // x[1,4,5] · w[4,3,2]: every input element meets 3 · 2 weights.
  CHECK(cost_of("conv_transpose1", {}, {{kFloat, {1, 4, 5}}, {kFloat, {4, 3, 2}}}).macs ==
        4.0 * 5 * 3 * 2);
}

TEST_CASE("layer cost: products count rows, columns, depth and batches") {
  CHECK(cost_of("dense", {}, {{kFloat, {3, 4, 5}}, {kFloat, {5, 7}}}).macs == 3.0 * 4 * 5 * 7);
  CHECK(cost_of("dense", params({{"transpose_weights", std::int64_t{1}}}),
                {{kFloat, {3, 5}}, {kFloat, {7, 5}}})
            .macs == 3.0 * 5 * 7);
  CHECK(cost_of("matmul", {}, {{kFloat, {2, 1, 3, 5}}, {kFloat, {6, 5, 7}}}).macs ==
        12.0 * 3 * 5 * 7);
  CHECK(cost_of("matmul", params({{"transpose_a", std::int64_t{1}}}),
                {{kFloat, {5, 3}}, {kFloat, {5, 7}}})
            .macs == 3.0 * 5 * 7);
  CHECK(cost_of("matmul", {}, {{kFloat, {5}}, {kFloat, {5, 7}}}).macs == 5.0 * 7);
  CHECK(cost_of("einsum", params({{"equation", std::string("bij,bjk->bik")}}),
                {{kFloat, {2, 3, 5}}, {kFloat, {2, 5, 7}}})
            .macs == 2.0 * 3 * 5 * 7);
}

TEST_CASE("layer cost: recurrent layers count both products of every gate and step") {
  // T=4, B=2, I=3, H=5, two directions.
  const LayerCost lstm = cost_of("lstm", params({{"direction", std::string("bidirectional")}}),
                                 {{kFloat, {4, 2, 3}}, {kFloat, {2, 20, 3}}, {kFloat, {2, 20, 5}}});
  CHECK(lstm.macs == 4.0 * 2 * 2 * 20 * (3 + 5));
}

TEST_CASE("layer cost: other layers move bytes only") {
  const LayerCost cost =
      cost_of("unary", params({{"op", std::string("relu")}}), {{DataType::float16, {3, 5}}});
  CHECK(cost.macs == 0);
  CHECK(cost.bytes == 2.0 * 15 * 2);
}

TEST_CASE(
    "layer cost: layers that touch each element once take no steps, and are folded however "
    "large they are") {
  CHECK(cost_of("dequantize", {}, {{DataType::int8, {4096, 25088}}, {kFloat, {}}}).steps == 0);
  CHECK(cost_of("transpose", {}, {{kFloat, {4096, 25088}}}).steps == 0);
  CHECK(cost_of("matmul", {}, {{kFloat, {2, 3}}, {kFloat, {3, 5}}}).steps == 2 * 3 * 5);

  Graph graph;
  const TensorId q = graph.add_constant("q", Tensor::create(DataType::int8, Shape{64, 64}).value());
  const TensorId scale = graph.add_constant("scale", Tensor::create(kFloat, Shape{}).value());
  const TensorId y = graph.add_tensor({"y", {}, {}, {}, {}});
  const Layer& layer =
      graph.add_layer(*builtin_layer_types().find("dequantize"), "layer", {q, scale}, {y}, {});
  const std::vector<Tensor> inputs = {graph.tensor(q).constant, graph.tensor(scale).constant};
  EvaluateLimits limits;
  limits.steps = 1;
  CHECK(evaluate(test::builtin_registry(), layer, inputs, default_allocator(), limits).ok());
}
