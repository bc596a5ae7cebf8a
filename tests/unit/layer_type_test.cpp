// Generic code goes by the properties of layer types: copies of built-in types under other names
// are treated as the originals.
#include "core/graph/layer_type.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/layer_cost.h"
#include "quantization/tensor_roles.h"
#include "support/graph_evaluator.h"
#include "support/one_layer.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Names = std::set<std::string>;
using Ints = std::vector<std::int64_t>;

// The built-in types, and each of them once more as "new_<name>".
const LayerTypes& doubled_types() {
  static const LayerTypes types = [] {
    LayerTypes all;
    for (const LayerType* type : builtin_layer_types().all()) {
      REQUIRE(all.add(*type).ok());
      LayerType renamed = *type;
      renamed.name = "new_" + type->name;
      REQUIRE(all.add(std::move(renamed)).ok());
    }
    return all;
  }();
  return types;
}

// The graph with new types in place of `names`.
Graph with_new_types(Graph graph, const Names& names) {
  for (Layer& layer : graph.layers()) {
    const std::string& name = layer.type->name;
    layer.type = doubled_types().find(names.contains(name) ? "new_" + name : name);
  }
  return graph;
}

std::string without_prefix(std::string text) {
  for (std::size_t at; (at = text.find("new_")) != std::string::npos;) text.erase(at, 4);
  return text;
}

// What all passes leave of the graph, with the built-in types and with new ones, which must be the
// same.
std::string passed(const Graph& graph, const Names& names) {
  const Registry registry(doubled_types());  // without routines: nothing is folded by running it
  Graph known = with_new_types(graph, {}), renamed = with_new_types(graph, names);
  REQUIRE(run_passes(known, registry).ok());
  REQUIRE(run_passes(renamed, registry).ok());
  CHECK(without_prefix(outline(renamed)) == outline(known));
  return outline(renamed);
}

}  // namespace

TEST_CASE("layer types: a new type with weights takes in norms and post-ops") {
  for (const char* type : {"conv2", "conv_transpose2"}) {
    GraphBuilder b;
    const TensorId x = b.input("x", {1, 4, 6, 6});
    TensorId y = b.layer(type, {x, b.random({4, 4, 1, 1}), b.random({4})});
    y = b.layer("batch_norm",
                {y, b.random({4}), b.random({4}), b.random({4}), b.random({4}, 0.5, 1)});
    y = b.binary("add", b.unary("relu", y), x);
    CHECK(passed(b.finish({y}), {type}) == std::string("new_") + type + "+relu+add");
  }
}

TEST_CASE("layer types: a new type without padding takes in the norm before it") {
  for (const char* type : {"conv2", "dense"}) {
    const bool dense = type == std::string("dense");
    GraphBuilder b;
    const TensorId x = b.input("x", dense ? DynamicShape{1, 4} : DynamicShape{1, 4, 6, 6});
    TensorId y = b.layer("batch_norm",
                         {x, b.random({4}), b.random({4}), b.random({4}), b.random({4}, 0.5, 1)});
    y = b.layer(type, {y, b.random(dense ? Shape{4, 3} : Shape{3, 4, 1, 1})});
    CHECK(passed(b.finish({y}), {type}) == std::string("new_") + type);
  }
}

TEST_CASE("layer types: transposes move past a new type") {
  for (const char* type : {"softmax", "hardmax", "lp_norm"}) {
    GraphBuilder b;
    const TensorId x = b.input("x", {2, 3, 4, 5});
    const TensorId t = b.layer("transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
    const TensorId y = b.layer(type, {t}, {{"axis", std::int64_t{-1}}});
    CHECK(passed(b.finish({b.layer("transpose", {y}, {{"perm", Ints{0, 3, 1, 2}}})}), {type}) ==
          std::string("new_") + type);
  }
}

TEST_CASE("layer types: a new type that changes nothing is removed") {
  GraphBuilder b;
  TensorId y = b.unary("exp", b.input("x", {2, 3}));
  y = b.layer("pad", {y, b.integers({0, 0, 0, 0})});
  y = b.layer("slice", {y, b.integers({0}), b.integers({INT64_MAX}), b.integers({1})});
  y = b.layer("tile", {y, b.integers({1, 1})});
  y = b.layer("cast", {y}, {{"to", std::string("float32")}});
  CHECK(passed(b.finish({b.unary("sqrt", y)}), {"pad", "slice", "tile", "cast"}) ==
        "unary:exp+sqrt");
}

TEST_CASE("layer types: shapes computed by new types are known") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 6, 4});
  const TensorId shape = b.layer("shape", {x});
  const TensorId n = b.layer("slice", {shape, b.integers({0}), b.integers({1})});
  const TensorId last = b.layer("gather", {shape, b.integers({2})});
  const TensorId target =
      b.layer("concat", {n, b.binary("mul", last, b.integers({6}))}, {{"axis", std::int64_t{0}}});
  Graph graph = with_new_types(b.finish({b.layer("reshape", {x, target})}),
                               {"shape", "slice", "gather", "concat", "binary", "reshape"});
  graph.tensor(graph.outputs[0]).shape = {};
  REQUIRE(graph.infer_shapes().ok());
  CHECK(graph.tensor(graph.outputs[0]).shape.str() == "nx24");
}

TEST_CASE("layer types: the work of new types is counted") {
  const auto problem = [](const char* type, const Params& params,
                          const std::vector<Shape>& shapes) {
    Graph graph;
    std::vector<TensorId> inputs;
    std::vector<TensorSpec> specs;
    for (const Shape& shape : shapes) {
      inputs.push_back(graph.add_tensor({"x", DataType::float32, shape, {}, {}}));
      specs.emplace_back().type = DataType::float32;
      specs.back().shape = shape;
    }
    const TensorId y = graph.add_tensor({"y", {}, {}, {}, {}});
    const Layer& layer = graph.add_layer(*doubled_types().find(type), "layer", inputs, {y}, params);
    return make_problem(layer, std::move(specs)).value();
  };
  CHECK(layer_cost(problem("new_dense", {}, {{5, 7}, {7, 3}})).macs == 5 * 7 * 3);
  const Params window = params({{"kernel", Ints{3, 3}}});
  CHECK(layer_steps(problem("new_max_pool2", window, {{1, 1, 5, 5}})) == 25 + 9 * 9);
}

TEST_CASE("layer types: calibration asks new types for channels and moved elements") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 4, 6, 6}), flat = b.input("flat", {2, 8});
  const TensorId moved = b.layer("max_pool2", {x}, {{"kernel", Ints{2, 2}}});
  const TensorId y = b.layer("conv2", {moved, b.random({3, 4, 1, 1})});
  const TensorId z = b.layer("dense", {flat, b.random({8, 3})});
  const TensorId both = b.layer("concat", {z, z}, {{"axis", std::int64_t{1}}});
  const Graph graph =
      with_new_types(b.finish({y, both}), {"max_pool2", "conv2", "dense", "concat"});
  const std::vector<int> axes = channel_axes(graph);
  CHECK(axes[moved] == 1);
  CHECK(axes[flat] == 1);
  CHECK(axes[x] == -1);
  for (const Layer& layer : graph.layers()) {
    CHECK(moves_elements(layer) == (layer.type->name == "new_max_pool2"));
    CHECK(joins_elements(layer) == (layer.type->name == "new_concat"));
  }
}

TEST_CASE("layer types: declarations that contradict themselves are refused") {
  LayerType type = *builtin_layer_types().find("dense");
  LayerTypes types;
  SECTION("a value input beyond the last input") {
    type.value_inputs = {{3, ValueKind::size}};
    CHECK(types.add(type).message().find("value input 3") != std::string::npos);
  }
  SECTION("a value input twice") {
    type.value_inputs = {{1, ValueKind::size}, {1, ValueKind::axes}};
    CHECK(types.add(type).message().find("value input 1") != std::string::npos);
  }
  SECTION("weights without an axis of outputs") {
    type.weights->output_axis = nullptr;
    CHECK(types.add(type).message().find("output_axis") != std::string::npos);
  }
}
