// Models that bring their own quantisation: pairs of quantize and dequantize, dequantised weights.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "core/routine/evaluate.h"
#include "cpu/qint8/weights.h"
#include "passes/adopt_quantization.h"
#include "support/graph_evaluator.h"

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

TEST_CASE("imported: pairs become one function that is fused, and annotate what it gives",
          "[quantization]") {
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
  // The output keeps its name and carries the last pair's levels.
  const TensorDef& y = graph.tensor(graph.outputs[0]);
  CHECK(y.name == model.graph.tensor(model.graph.outputs[0]).name);
  REQUIRE(y.quantization);
  CHECK(y.quantization->scales == std::vector<float>{0.07f});
  CHECK(test::outline(graph) == "unary:fake_quantize dense+fake_quantize+relu+fake_quantize");
}

TEST_CASE("imported: nets compute as before, saturation and rounding included", "[quantization]") {
  QdqModel model;
  Graph graph = model.graph;
  REQUIRE(adopt_quantization(graph, test::builtin_registry()).ok());
  // Far outside of the levels, between two of them, and on a negative sum that only the last
  // pair's lowest level cuts off.
  Tensor x = Tensor::create(DataType::float32, Shape{2, 3}).value();
  const float numbers[] = {100, -100, 0.13f, -0.4f, 0.26f, 7};
  std::copy(std::begin(numbers), std::end(numbers), x.mutable_values<float>().begin());
  const Tensor before = test::evaluate_graph(model.graph, {x})[0];
  const Tensor after = test::evaluate_graph(graph, {x})[0];
  for (std::size_t i = 0; i < 4; ++i) CHECK(before.values<float>()[i] == after.values<float>()[i]);
}

TEST_CASE("imported: half levels round as in the model, to the last bit", "[quantization]") {
  for (const double scale : {0.7, 0.1, 0.05, 0.003}) {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{1000});
    const Scale levels = scale_of(b, scale, 100);
    Graph graph = b.finish({round_trip(b, x, levels, levels)});
    Tensor halves = Tensor::create(DataType::float32, Shape{1000}).value();
    for (int i = 0; i < 1000; ++i)
      halves.mutable_values<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(scale) * 0.5f * static_cast<float>(i - 300);
    const Tensor expected = test::evaluate_graph(graph, {halves})[0];
    REQUIRE(adopt_quantization(graph, test::builtin_registry()).value() == 1);
    REQUIRE(graph.layers().size() == 1);
    for (const char* routine : {"cpu/naive", "cpu/direct"}) {
      const Tensor y =
          evaluate_with(test::builtin_registry(), routine, graph.layers()[0], std::array{halves})
              .value()[0];
      CAPTURE(scale, routine);
      CHECK(std::memcmp(y.data(), expected.data(), y.bytes()) == 0);
    }
  }
}

TEST_CASE("imported: a pair behind what only moves its levels leaves nothing", "[quantization]") {
  GraphBuilder b;
  const Scale scale = scale_of(b, 0.5, 3);
  const TensorId x = round_trip(b, b.input("x", Shape{2, 3}), scale, scale);
  const TensorId moved = b.layer("transpose", {x});
  Graph graph = b.finish({b.layer("softmax", {round_trip(b, moved, scale, scale)})});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 2);
  CHECK(test::outline(graph) == "unary:fake_quantize softmax transpose");
}

TEST_CASE("imported: a tensor that others read unrounded is not annotated, its pair's result is",
          "[quantization]") {
  GraphBuilder b;
  const Scale scale = scale_of(b, 0.5, 3);
  const TensorId x = b.input("x", Shape{2, 3});
  const TensorId rounded = round_trip(b, x, scale, scale);
  Graph graph = b.finish({b.layer("softmax", {x}), b.layer("softmax", {rounded})});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 1);
  CHECK_FALSE(graph.tensor(graph.inputs[0]).quantization);
  for (const Layer& layer : graph.layers())
    if (layer.params.text("op") == "fake_quantize")
      CHECK(graph.tensor(layer.outputs[0]).quantization);
}

TEST_CASE("imported: dequantised weights stay the model's own integers", "[quantization]") {
  QdqModel model;
  Graph graph = model.graph;
  REQUIRE(adopt_quantization(graph, test::builtin_registry()).ok());
  const Layer& dense = *std::ranges::find_if(
      graph.layers(), [](const Layer& layer) { return layer.type->name == "dense"; });
  const TensorDef& w = graph.tensor(dense.inputs[1]);
  REQUIRE(w.is_constant());
  REQUIRE(w.quantization);
  CHECK(w.quantization->is_signed);
  CHECK(w.quantization->axis == 1);
  CHECK(w.quantization->scales == std::vector<float>{0.5f, 0.25f});
  CHECK(w.constant.values<float>()[3] == 127 * 0.25f);
}

TEST_CASE("imported: what is no plain pair stays", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3});
  const Scale first = scale_of(b, 0.05, 100);
  TensorId y = kNoTensor;
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

TEST_CASE("imported: layers without a partner stay, and the tensors beside them have ranges",
          "[quantization]") {
  GraphBuilder b;
  const Scale in = scale_of(b, 0.05, 100), out = scale_of(b, 0.1, 90);
  const TensorId x = b.input("x", Shape{2, 3}, DataType::uint8);
  const TensorId real = b.layer("dequantize", {x, in.scale, in.zero_point});
  const TensorId y = b.layer("softmax", {real});
  Graph graph = b.finish({b.layer("quantize", {y, out.scale, out.zero_point})});
  CHECK(is_quantised(graph));
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 2);
  CHECK(test::outline(graph) == "dequantize softmax quantize");
  const auto scales = [&](std::size_t layer) {
    return graph.tensor(graph.layers()[layer].outputs[0]).quantization.value().scales;
  };
  CHECK(scales(0) == std::vector<float>{0.05f});
  CHECK(scales(1) == std::vector<float>{0.1f});
}

TEST_CASE("imported: what another layer reads unrounded has no range of a lone quantize layer",
          "[quantization]") {
  GraphBuilder b;
  const Scale levels = scale_of(b, 0.05, 100);
  const TensorId y = b.layer("softmax", {b.input("x", Shape{2, 3})});
  Graph graph = b.finish(
      {b.layer("quantize", {y, levels.scale, levels.zero_point}), b.layer("softmax", {y})});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 0);
  CHECK(is_quantised(graph));
}

TEST_CASE("imported: a tensor that is quantised in two ways becomes two tensors",
          "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3});
  const Scale first = scale_of(b, 0.05, 100), second = scale_of(b, 0.1, 100);
  const TensorId p = b.layer("softmax", {round_trip(b, x, first, first)});
  const TensorId q = b.layer("softmax", {round_trip(b, x, second, second)});
  Graph graph = b.finish({p, q});
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 2);
  CHECK(count(graph, "quantize") == 0);
  CHECK_FALSE(graph.tensor(graph.inputs[0]).quantization);
  std::vector<float> scales;
  for (const Layer& layer : graph.layers())
    if (layer.params.text("op") == "fake_quantize")
      scales.push_back(graph.tensor(layer.outputs[0]).quantization->scales[0]);
  CHECK(scales == std::vector<float>{0.05f, 0.1f});
}

namespace {

// Two convolutions, each rounded to its own levels, joined and rounded to other ones.
struct JoinedModel {
  GraphBuilder b;
  TensorId x;
  std::array<TensorId, 2> parts = {};
  TensorId joined;
  Graph graph;

  explicit JoinedModel(bool read_again) {
    x = b.input("x", Shape{1, 4, 5, 5});
    for (std::size_t i = 0; i < 2; ++i) {
      const Scale levels = scale_of(b, i == 0 ? 0.05 : 0.03, 90);
      parts[i] = round_trip(b, b.layer("conv2", {x, b.random({3, 4, 1, 1})}), levels, levels);
    }
    joined = b.layer("concat", {parts[0], parts[1]}, {{"axis", std::int64_t{1}}});
    const Scale levels = scale_of(b, 0.04, 100);
    std::vector<TensorId> outputs = {round_trip(b, joined, levels, levels)};
    if (read_again) outputs.push_back(b.unary("relu", parts[0]));
    graph = b.finish(std::move(outputs));
  }
};

}  // namespace

TEST_CASE("imported: what is joined is rounded before, in the layers that make it",
          "[quantization]") {
  JoinedModel model(false);
  Graph graph = model.graph;
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 3);
  REQUIRE(graph.verify(test::builtin_registry().layer_types()).ok());
  CHECK(test::outline(graph) ==
        "conv2+fake_quantize+fake_quantize conv2+fake_quantize+fake_quantize concat");
  const TensorDef& y = graph.tensor(graph.outputs[0]);
  CHECK(y.name == model.graph.tensor(model.graph.outputs[0]).name);
  REQUIRE(y.quantization);
  CHECK(y.quantization->scales == std::vector<float>{0.04f});
  Tensor x = Tensor::create(DataType::float32, Shape{1, 4, 5, 5}).value();
  for (std::size_t i = 0; i < 100; ++i)
    x.mutable_values<float>()[i] = 0.07f * static_cast<float>(i % 61) - 2;
  const Tensor before = test::evaluate_graph(model.graph, {x})[0];
  const Tensor after = test::evaluate_graph(graph, {x})[0];
  CHECK(std::memcmp(before.data(), after.data(), before.bytes()) == 0);
}

TEST_CASE("imported: what is joined and read elsewhere is rounded when it is joined",
          "[quantization]") {
  JoinedModel model(true);
  Graph graph = model.graph;
  CHECK(adopt_quantization(graph, test::builtin_registry()).value() == 3);
  CHECK(test::outline(graph) ==
        "conv2+fake_quantize conv2+fake_quantize concat unary:fake_quantize unary:relu");
}
