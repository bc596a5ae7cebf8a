#include "support/graph_evaluator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/base/element.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "routines/builtin.h"

namespace softneuro::test {
namespace {

Tensor filled(DataType type, const Shape& shape, std::uint32_t seed, double low, double high) {
  Tensor tensor = *Tensor::create(type, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> values(low, high);
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < view.elements(); ++i) store(view, i, values(random));
  return tensor;
}

// What may be lost where the order of operations, or of roundings, changes.
double tolerance(DataType type, double expected) {
  switch (type) {
    case DataType::float16:
      return 5e-3 + 5e-3 * std::fabs(expected);
    case DataType::bfloat16:
      return 2e-2 + 4e-2 * std::fabs(expected);
    case DataType::float64:
      return 1e-9 + 1e-9 * std::fabs(expected);
    case DataType::float32:
      return 2e-6 + 2e-5 * std::fabs(expected);
    default:
      return 0;
  }
}

void check_equal(const Tensor& expected, const Tensor& actual) {
  REQUIRE(actual.data_type() == expected.data_type());
  REQUIRE(actual.shape() == expected.shape());
  const TensorView a = view_of(expected), b = view_of(actual);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = load(a, i), y = load(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    CAPTURE(i, x, y);
    REQUIRE(std::fabs(x - y) <= tolerance(expected.data_type(), x));
  }
}

const Pass& pass_named(const std::string& name) {
  for (const Pass& pass : all_passes())
    if (name == pass.name) return pass;
  FAIL("there is no pass " << name);
  return all_passes()[0];
}

void check_interface(const Graph& before, const Graph& after) {
  REQUIRE(before.inputs.size() == after.inputs.size());
  REQUIRE(before.outputs.size() == after.outputs.size());
  const auto check = [&](TensorId a, TensorId b) {
    CHECK(before.tensor(a).name == after.tensor(b).name);
    CHECK(before.tensor(a).type == after.tensor(b).type);
    CHECK(before.tensor(a).shape.str() == after.tensor(b).shape.str());
  };
  for (std::size_t i = 0; i < before.inputs.size(); ++i) check(before.inputs[i], after.inputs[i]);
  for (std::size_t i = 0; i < before.outputs.size(); ++i)
    check(before.outputs[i], after.outputs[i]);
}

}  // namespace

const Registry& builtin_registry() {
  static const Registry registry = *make_builtin_registry();
  return registry;
}

// --- GraphBuilder ------------------------------------------------------------------------------

TensorId GraphBuilder::input(std::string name, DynamicShape shape, DataType type) {
  TensorDef def;
  def.name = std::move(name);
  def.type = type;
  def.shape = std::move(shape);
  graph_.inputs.push_back(graph_.add_tensor(std::move(def)));
  return graph_.inputs.back();
}

TensorId GraphBuilder::constant(Tensor value, std::string name) {
  return graph_.add_constant(std::move(name), std::move(value));
}

TensorId GraphBuilder::scalar(double value, DataType type) {
  return reals({}, {value}, type);
}

TensorId GraphBuilder::reals(const Shape& shape, const std::vector<double>& values, DataType type) {
  Tensor tensor = *Tensor::create(type, shape);
  REQUIRE(tensor.elements() == static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    store(view_of(tensor), static_cast<std::int64_t>(i), values[i]);
  return constant(std::move(tensor));
}

TensorId GraphBuilder::integers(const std::vector<std::int64_t>& values) {
  Tensor tensor = *Tensor::create(DataType::int64, Shape{static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_values<std::int64_t>().begin());
  return constant(std::move(tensor));
}

TensorId GraphBuilder::random(const Shape& shape, double low, double high, DataType type) {
  return constant(filled(type, shape, seed_++, low, high));
}

TensorId GraphBuilder::layer(const char* type, std::vector<TensorId> inputs,
                             const std::vector<Params::Entry>& entries) {
  const LayerType* found = builtin_layer_types().find(type);
  if (found == nullptr) FAIL("there is no layer type " << type);
  Params params;
  for (const Params::Entry& entry : entries) params.set(entry.name, entry.value);
  const std::string name = graph_.unique_layer_name(type);
  TensorDef def;
  def.name = name;
  const TensorId output = graph_.add_tensor(std::move(def));
  graph_.add_layer(*found, name, std::move(inputs), {output}, std::move(params)).sources = {name};
  return output;
}

TensorId GraphBuilder::unary(const char* op, TensorId x, double alpha, double beta) {
  return layer("unary", {x}, {{"op", std::string(op)}, {"alpha", alpha}, {"beta", beta}});
}

TensorId GraphBuilder::binary(const char* op, TensorId a, TensorId b) {
  return layer("binary", {a, b}, {{"op", std::string(op)}});
}

TensorId GraphBuilder::reduce(const char* op, TensorId x, const std::vector<std::int64_t>& axes,
                              bool keepdims) {
  return layer("reduce", {x, integers(axes)},
               {{"op", std::string(op)}, {"keepdims", std::int64_t{keepdims ? 1 : 0}}});
}

Graph GraphBuilder::finish(std::vector<TensorId> outputs) {
  graph_.outputs = std::move(outputs);
  const auto require = [](const Status& status) {
    INFO(status.message());
    REQUIRE(status.ok());
  };
  require(graph_.sort());
  require(graph_.infer_shapes());
  require(graph_.verify(builtin_layer_types()));
  return graph_;
}

// --- running -----------------------------------------------------------------------------------

std::vector<Tensor> random_inputs(const Graph& graph, const Sizes& sizes, std::uint32_t seed) {
  std::vector<Tensor> inputs;
  for (const TensorId id : graph.inputs) {
    const TensorDef& def = graph.tensor(id);
    Shape shape;
    for (const Dim& dim : def.shape.dims())
      shape.push_back(dim.known() ? dim.value : sizes.at(dim.symbol.empty() ? "?" : dim.symbol));
    inputs.push_back(filled(def.type, shape, seed++, -3, 3));
  }
  return inputs;
}

std::vector<Tensor> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(graph.tensor_count());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = graph.tensor(static_cast<TensorId>(i)).constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Layer& layer : graph.layers()) {
    std::vector<Tensor> given;
    for (const TensorId id : layer.inputs) given.push_back(id == kNoTensor ? Tensor() : values[id]);
    Result<std::vector<Tensor>> made = evaluate(builtin_registry(), layer, given);
    INFO(made.status().message());
    REQUIRE(made.ok());
    for (std::size_t i = 0; i < layer.outputs.size(); ++i)
      if (layer.outputs[i] != kNoTensor) values[layer.outputs[i]] = (*made)[i];
  }
  std::vector<Tensor> outputs;
  for (const TensorId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

Graph apply_passes(const Graph& graph, const std::vector<std::string>& passes) {
  Graph result = graph;
  const PassOptions options;
  const auto require = [](const Status& status) {
    INFO(status.message());
    REQUIRE(status.ok());
  };
  if (passes.empty()) {
    require(run_passes(result, builtin_registry(), options));
  } else {
    for (std::int64_t changes = 1, round = 0; changes > 0; ++round) {
      REQUIRE(round < 20);  // else some pass never ends
      PassContext context{builtin_registry(), options};
      for (const std::string& name : passes) {
        INFO(name);
        require(pass_named(name).run(result, context));
        require(result.verify(builtin_layer_types()));
      }
      changes = context.changes;
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      result.tensor(result.inputs[i]).shape = graph.tensor(graph.inputs[i]).shape;
    require(result.infer_shapes());  // without the names that passes give to dimensions
  }
  INFO("before: " << outline(graph));
  INFO("after: " << outline(result));
  check_interface(graph, result);
  return result;
}

Graph after_passes(const Graph& graph, const std::vector<std::string>& passes, const Sizes& sizes) {
  Graph result = apply_passes(graph, passes);
  INFO("before: " << outline(graph));
  INFO("after: " << outline(result));
  for (const std::uint32_t seed : {1u, 1000u}) {
    INFO("seed " << seed);
    const std::vector<Tensor> inputs = random_inputs(graph, sizes, seed);
    const std::vector<Tensor> expected = evaluate_graph(graph, inputs);
    const std::vector<Tensor> actual = evaluate_graph(result, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) check_equal(expected[i], actual[i]);
  }
  return result;
}

std::string outline(const Graph& graph) {
  std::string text;
  for (const Layer& layer : graph.layers()) {
    if (!text.empty()) text += ' ';
    text += layer.type->name;
    if (layer.type->name == "unary" || layer.type->name == "binary")
      text += ":" + std::string(layer.params.text("op"));
    for (const PostOp& op : layer.post_ops)
      text += std::string("+") +
              (op.kind == PostOp::Kind::unary ? to_string(op.unary) : to_string(op.binary));
  }
  return text;
}

}  // namespace softneuro::test
