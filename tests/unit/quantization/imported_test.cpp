// Models that bring their own quantisation: pairs of quantize and dequantize, dequantised weights.
#include "quantization/imported.h"

#include <catch2/catch.hpp>

#include "quantization/weights.h"
#include "unit/graph_evaluator.h"

using namespace softneuro;
using test::GraphBuilder;

namespace {

TensorId int8s(GraphBuilder& b, const Shape& shape, const std::vector<double>& values) {
  return b.reals(shape, values, DataType::int8);
}

struct Scale {
  TensorId scale, zero_point;
};

Scale scale_of(GraphBuilder& b, double scale, double zero_point) {
  return {b.scalar(scale), b.scalar(zero_point, DataType::uint8)};
}

// x in the levels of `to`, read with those of `from`.
TensorId round_trip(GraphBuilder& b, TensorId x, Scale to, Scale from) {
  const TensorId q = b.layer("quantize", {x, to.scale, to.zero_point});
  return b.layer("dequantize", {q, from.scale, from.zero_point});
}

int count(const Graph& graph, std::string_view type) {
  int found = 0;
  for (const Layer& layer : graph.layers()) found += layer.type->name == type;
  return found;
}

// x → QDQ → dense with dequantised weights → QDQ → relu → QDQ, as exporters write it.
struct QdqModel {
  GraphBuilder b;
  TensorId x, dense;
  Graph graph;

  QdqModel() {
    x = b.input("x", Shape{2, 3});
    const Scale in = scale_of(b, 0.05, 100), out = scale_of(b, 0.1, 90);
    const TensorId w = b.layer(
        "dequantize", {int8s(b, {3, 2}, {1, -2, 3, 127, -128, 5}), b.reals({2}, {0.5, 0.25})},
        {{"axis", std::int64_t{1}}});
    dense = b.layer("dense", {round_trip(b, x, in, in), w});
    const TensorId y = b.unary("relu", round_trip(b, dense, out, out));
    const Scale last = scale_of(b, 0.07, 0);
    graph = b.finish({round_trip(b, y, last, last)});
  }
};

}  // namespace

TEST_CASE("imported: pairs become the quantisation of the tensor in front", "[quantization]") {
  QdqModel model;
  Graph graph = model.graph;
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 3);
  REQUIRE(graph.verify(test::builtin_registry().layer_types()).ok());
  CHECK(count(graph, "quantize") == 0);
  CHECK(count(graph, "dequantize") == 0);
  const Quantization& x = *graph.tensor(graph.inputs[0]).quantization;
  CHECK(x.scales == std::vector<float>{0.05f});
  CHECK(x.zero_points == std::vector<std::int32_t>{100});
  CHECK_FALSE(x.is_signed);
  // The output keeps its name and carries the last pair's levels; the relu is fused by now.
  const TensorDef& y = graph.tensor(graph.outputs[0]);
  CHECK(y.name == model.graph.tensor(model.graph.outputs[0]).name);
  REQUIRE(y.quantization);
  CHECK(y.quantization->scales == std::vector<float>{0.07f});
  CHECK(test::outline(graph) == "dense+relu");
}

TEST_CASE("imported: dequantised weights stay the model's own integers", "[quantization]") {
  QdqModel model;
  Graph graph = model.graph;
  REQUIRE(adopt_quantization(graph, test::builtin_registry()).ok());
  const Layer& dense = graph.layers()[0];
  const TensorDef& w = graph.tensor(dense.inputs[1]);
  REQUIRE(w.is_constant());
  REQUIRE(w.quantization);
  CHECK(w.quantization->is_signed);
  CHECK(w.quantization->axis == 1);
  CHECK(w.quantization->scales == std::vector<float>{0.5f, 0.25f});
  CHECK(w.constant.values<float>()[3] == 127 * 0.25f);
}

TEST_CASE("imported: rounding can be kept", "[quantization]") {
  QdqModel model;
  Graph graph = model.graph;
  AdoptOptions options;
  options.keep_rounding = true;
  CHECK(adopt_quantization(graph, test::builtin_registry(), options).value() == 3);
  CHECK(count(graph, "quantize") == 3);
  CHECK(graph.tensor(graph.find_tensor("x")).quantization);
}

TEST_CASE("imported: what is no plain pair stays", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3});
  const Scale first = scale_of(b, 0.05, 100), second = scale_of(b, 0.1, 100);
  TensorId y = kNoTensor;
  SECTION("another scale on the way back") {
    y = round_trip(b, x, first, second);
  }
  SECTION("a scale that is not known") {
    const TensorId scale = b.input("scale", Shape{});
    const TensorId q = b.layer("quantize", {x, scale, first.zero_point});
    y = b.layer("dequantize", {q, scale, first.zero_point});
  }
  SECTION("16 bits") {
    const TensorId zero = b.scalar(0, DataType::int16);
    const TensorId q = b.layer("quantize", {x, first.scale, zero});
    y = b.layer("dequantize", {q, first.scale, zero});
  }
  Graph graph = b.finish({b.unary("exp", y)});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 0);
  CHECK(count(graph, "quantize") == 1);
  CHECK(count(graph, "dequantize") == 1);
  CHECK_FALSE(graph.tensor(graph.inputs[0]).quantization);
}

TEST_CASE("imported: a second quantisation of one tensor stays a pair", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3});
  const Scale first = scale_of(b, 0.05, 100), second = scale_of(b, 0.1, 100);
  const TensorId p = b.unary("exp", round_trip(b, x, first, first));
  const TensorId q = b.unary("sin", round_trip(b, x, second, second));
  Graph graph = b.finish({p, q});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 1);
  CHECK(count(graph, "quantize") == 1);
  CHECK(graph.tensor(graph.inputs[0]).quantization->scales[0] == 0.05f);
}
