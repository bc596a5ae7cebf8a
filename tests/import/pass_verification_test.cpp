// An import that verifies its passes: a pass that changes what the model computes is named, and
// right ones are let pass.
#include "verify/pass_verification.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "import/onnx_model.h"
#include "net/make_runtime.h"
#include "softneuro/net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using PassFunction = Status (*)(Graph&, PassContext&);

Layer* layer_of(Graph& graph, std::string_view type, std::string_view op = "") {
  for (Layer& layer : graph.layers())
    if (layer.type->name == type && (op.empty() || layer.params.text("op") == op)) return &layer;
  return nullptr;
}

TensorId scalar(Graph& graph, float value) {
  Tensor tensor = Tensor::create(DataType::float32, Shape{1}).value();
  tensor.mutable_values<float>()[0] = value;
  return graph.add_constant("planted", std::move(tensor));
}

// x / c becomes x · (1 / c).
Status multiplies(Graph& graph, PassContext& context) {
  Layer* const div = layer_of(graph, "binary", "div");
  if (div == nullptr) return {};
  ++context.changes;
  const float c = graph.tensor(div->inputs[1]).constant.values<float>()[0];
  div->params.set("op", std::string("mul"));
  div->inputs[1] = scalar(graph, 1 / c);
  return {};
}

// (x − mean) · w becomes x · w − mean · w.
Status subtracts_behind(Graph& graph, PassContext& context) {
  Layer* const sub = layer_of(graph, "binary", "sub");
  Layer* const product = layer_of(graph, "matmul");
  if (sub == nullptr || product == nullptr || product->inputs[0] != sub->outputs[0]) return {};
  ++context.changes;
  const Tensor& mean = graph.tensor(sub->inputs[1]).constant;
  const Tensor& w = graph.tensor(product->inputs[1]).constant;
  const auto rows = w.shape()[0], columns = w.shape()[1];
  Tensor moved = Tensor::create(DataType::float32, Shape{columns}).value();
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      sum += static_cast<double>(mean.values<float>()[static_cast<std::size_t>(r)]) *
             static_cast<double>(w.values<float>()[static_cast<std::size_t>(r * columns + c)]);
    moved.mutable_values<float>()[static_cast<std::size_t>(c)] = static_cast<float>(sum);
  }
  const TensorId y = product->outputs[0];
  TensorDef inner;
  inner.name = "planted_product";
  const TensorId between = graph.add_tensor(std::move(inner));
  product->inputs[0] = sub->inputs[0];
  product->outputs[0] = between;
  sub->inputs = {between, graph.add_constant("moved", std::move(moved))};
  sub->outputs = {y};
  SN_RETURN_IF_ERROR(graph.sort());
  return graph.infer_shapes();
}

// (x · s) · w becomes (x · w) · s.
Status scales_behind(Graph& graph, PassContext& context) {
  Layer* const mul = layer_of(graph, "binary", "mul");
  Layer* const product = layer_of(graph, "matmul");
  if (mul == nullptr || product == nullptr || product->inputs[0] != mul->outputs[0]) return {};
  ++context.changes;
  const TensorId y = product->outputs[0];
  TensorDef inner;
  inner.name = "planted_product";
  const TensorId between = graph.add_tensor(std::move(inner));
  product->inputs[0] = mul->inputs[0];
  product->outputs[0] = between;
  mul->inputs[0] = between;
  mul->outputs = {y};
  SN_RETURN_IF_ERROR(graph.sort());
  return graph.infer_shapes();
}

Status changes_epsilon(Graph& graph, PassContext& context) {
  Layer* const norm = layer_of(graph, "layer_norm");
  if (norm == nullptr || norm->params.real("epsilon") > 1e-5) return {};
  ++context.changes;
  norm->params.set("epsilon", 2e-5);
  return {};
}

Status changes_a_weight(Graph& graph, PassContext& context) {
  const Layer* layer = layer_of(graph, "conv2");
  if (layer == nullptr) layer = layer_of(graph, "dense");
  if (layer == nullptr) return {};
  TensorDef& weights = graph.tensor(layer->inputs[1]);
  Tensor copy = weights.constant.clone().value();
  if (copy.values<float>()[3] == 0) return {};
  ++context.changes;
  copy.mutable_values<float>()[3] = 0;
  weights.constant = copy;
  return {};
}

Status drops_a_dimension(Graph& graph, PassContext& context) {
  Layer* const sum = layer_of(graph, "reduce");
  if (sum == nullptr || sum->params.integer("keepdims") == 0) return {};
  ++context.changes;
  sum->params.set("keepdims", std::int64_t{0});
  return graph.infer_shapes();
}

Status takes_tanh_form(Graph& graph, PassContext& context) {
  Layer* const gelu = layer_of(graph, "unary", "gelu");
  if (gelu == nullptr) return {};
  ++context.changes;
  gelu->params.set("op", std::string("gelu_tanh"));
  return {};
}

Status folds_wrongly(Graph& graph, PassContext& context) {
  Layer* const exp = layer_of(graph, "unary", "exp");
  if (exp == nullptr) return {};
  ++context.changes;
  const TensorId y = exp->outputs[0];
  Tensor value = Tensor::create(DataType::float32, Shape{2}).value();
  value.mutable_values<float>()[0] = std::exp(1.0f);
  value.mutable_values<float>()[1] = std::exp(2.0f) * 1.001f;
  std::vector<bool> remove(graph.layers().size(), false);
  remove[static_cast<std::size_t>(exp - graph.layers().data())] = true;
  graph.remove_layers(remove);
  graph.tensor(y).constant = std::move(value);
  return {};
}

// --- models
// ---------------------------------------------------------------------------------------

OnnxModel quotient() {
  OnnxModel model;
  model.input("x", {1, -1});
  model.floats("c", {}, {41});
  model.node("Div", {"x", "c"}, {"q"}).name("quotient");
  model.node("Floor", {"q"}, {"y"}).name("floor");
  model.output("y");
  return model;
}

OnnxModel standardised() {
  OnnxModel model;
  model.input("x", {16, 3});
  model.floats("mean", {3}, {1e5f, 3e6f, -2e4f});
  model.floats("w", {3, 2}, {0.3f, -0.2f, 0.5f, 0.1f, -0.7f, 0.4f});
  model.node("Sub", {"x", "mean"}, {"d"});
  model.node("MatMul", {"d", "w"}, {"y"}).name("product");
  model.output("y");
  return model;
}

OnnxModel scaled_product() {
  OnnxModel model;
  model.input("a", {4, 8});
  model.input("b", {8, 4});
  model.floats("s", {}, {1e-20f});
  model.node("Mul", {"a", "s"}, {"as"});
  model.node("MatMul", {"as", "b"}, {"y"}).name("product");
  model.output("y");
  return model;
}

OnnxModel normalised() {
  OnnxModel model;
  model.input("x", {4, 16});
  auto& gain = model.initializer("g", {16});
  for (int i = 0; i < 16; ++i) gain.add_float_data(1 + 0.1f * static_cast<float>(i));
  model.node("LayerNormalization", {"x", "g"}, {"y"}).name("norm").real("epsilon", 1e-5f);
  model.output("y");
  return model;
}

OnnxModel convolution() {
  OnnxModel model;
  model.input("x", {1, 3, 8, 8});
  auto& weights = model.initializer("w", {4, 3, 3, 3});
  for (int i = 0; i < 108; ++i) weights.add_float_data(std::sin(static_cast<float>(i)));
  model.node("Conv", {"x", "w"}, {"y"}).name("conv");
  model.output("y");
  return model;
}

OnnxModel sum() {
  OnnxModel model;
  model.input("x", {3, 4});
  model.int64s("axes", {1}, {0});
  model.node("ReduceSum", {"x", "axes"}, {"y"}).name("sum").integer("keepdims", 1);
  model.output("y");
  return model;
}

OnnxModel gelu() {
  OnnxModel model(20, 9);
  model.input("x", {64});
  model.node("Gelu", {"x"}, {"y"}).name("gelu");
  model.output("y");
  return model;
}

OnnxModel exponents() {
  OnnxModel model;
  model.input("x", {3, 2});
  model.floats("c", {2}, {1, 2});
  model.node("Exp", {"c"}, {"e"}).name("exp");
  model.node("Add", {"x", "e"}, {"y"}).name("add");
  model.output("y");
  return model;
}

// Runs where `shape` holds sizes that fit, which no made input does.
OnnxModel reshaped() {
  OnnxModel model;
  model.input("x", {2, 6});
  model.input("shape", {2}, kOnnxInt64);
  model.floats("w", {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  model.node("Reshape", {"x", "shape"}, {"r"});
  model.node("MatMul", {"r", "w"}, {"m"}).name("product");
  model.node("Relu", {"m"}, {"y"});
  model.output("y");
  return model;
}

std::vector<Tensor> sample_of_reshaped() {
  Tensor x = Tensor::create(DataType::float32, Shape{2, 6}).value();
  for (std::size_t i = 0; i < 12; ++i) x.mutable_values<float>()[i] = static_cast<float>(i) - 5;
  Tensor shape = Tensor::create(DataType::int64, Shape{2}).value();
  shape.mutable_values<std::int64_t>()[0] = 4;
  shape.mutable_values<std::int64_t>()[1] = 3;
  return {x, shape};
}

struct Verified {
  Status status;
  PassVerification verification;
};

Verified verify_with(const OnnxModel& onnx, const PassOptions& options,
                     std::vector<std::vector<Tensor>> samples = {}) {
  NetOptions net_options;
  net_options.threads = 1;
  const auto runtime = make_runtime(net_options).value();
  Graph model = onnx.import().value();
  REQUIRE(model.sort().ok());
  REQUIRE(model.infer_shapes().ok());
  Graph after = model;
  const Status passed = run_passes(after, runtime->registry(), options);
  REQUIRE(passed.ok());
  const auto verified = verify_passes({runtime, &model, &after, options, std::move(samples)});
  return {verified.status(), verified.ok() ? *verified : PassVerification()};
}

struct Planted {
  const char* name;
  OnnxModel (*model)();
  PassFunction pass;
  const char* node;
};

}  // namespace

TEST_CASE("pass verification: a planted fault is caught, with the pass and the node named") {
  const auto [name, model, pass, node] =
      GENERATE(values<Planted>({{"multiplies", quotient, multiplies, "floor"},
                                {"subtracts_behind", standardised, subtracts_behind, "Sub_0"},
                                {"scales_behind", scaled_product, scales_behind, "Mul_0"},
                                {"changes_epsilon", normalised, changes_epsilon, "norm"},
                                {"changes_a_weight", convolution, changes_a_weight, "conv"},
                                {"drops_a_dimension", sum, drops_a_dimension, "sum"},
                                {"takes_tanh_form", gelu, takes_tanh_form, "gelu"},
                                {"folds_wrongly", exponents, folds_wrongly, "add"}}));
  INFO(name);
  PassOptions options;
  options.disabled = {"all"};
  CHECK(verify_with(model(), options).status.ok());
  options.added = {{name, 1, "for this test", pass}};
  const Verified planted = verify_with(model(), options);
  CHECK(planted.status.code() == StatusCode::internal);
  CHECK_THAT(planted.status.message(), Catch::Contains("'" + std::string(name) + "'") &&
                                           Catch::Contains("'" + std::string(node) + "'"));
}

TEST_CASE(
    "pass verification: a quotient that is whole for few numbers is found, however small the "
    "input") {
  OnnxModel model;
  model.input("x", {1});
  model.floats("c", {}, {GENERATE(7.0f, 41.0f, 55.0f, 1000.0f)});
  model.node("Div", {"x", "c"}, {"q"});
  model.node("Floor", {"q"}, {"y"}).name("floor");
  model.output("y");
  PassOptions options;
  options.disabled = {"all"};
  CHECK(verify_with(model, options).status.ok());
  options.added = {{"multiplies", 1, "for this test", multiplies}};
  CHECK(verify_with(model, options).status.code() == StatusCode::internal);
}

TEST_CASE("pass verification: fused functions of one number round as they may, wherever it lies") {
  OnnxModel model;
  model.input("x", {1});
  if (GENERATE(true, false)) {  // softplus, exp(x) for x far below zero
    model.floats("one", {}, {1});
    model.node("Exp", {"x"}, {"e"});
    model.node("Add", {"e", "one"}, {"s"});
    model.node("Log", {"s"}, {"y"});
  } else {  // SiLU, x exp(x) there
    model.node("Sigmoid", {"x"}, {"s"});
    model.node("Mul", {"x", "s"}, {"y"});
  }
  model.output("y");
  const Verified verified = verify_with(model, {});
  INFO(verified.status.message());
  CHECK(verified.status.ok());
  CHECK(verified.verification.sets > 1000);
}

TEST_CASE("pass verification: all passes keep what small models compute") {
  const auto model =
      GENERATE(values<OnnxModel (*)()>({normalised, convolution, sum, gelu, exponents}));
  const Verified verified = verify_with(model(), {});
  INFO(verified.status.message());
  CHECK(verified.status.ok());
  CHECK(verified.verification.sets > 0);
}

TEST_CASE("pass verification: a model that runs on no made inputs is left out, with the reason") {
  const Verified verified = verify_with(reshaped(), {});
  CHECK(verified.status.ok());
  CHECK(verified.verification.sets == 0);
  CHECK_FALSE(verified.verification.left_out.empty());
}

TEST_CASE("pass verification: samples show a fault where no made inputs run") {
  const Verified right = verify_with(reshaped(), {}, {sample_of_reshaped()});
  CHECK(right.status.ok());
  CHECK(right.verification.sets == 1);
  PassOptions options;
  options.added = {{"changes_a_weight", 1, "for this test", changes_a_weight}};
  CHECK(verify_with(reshaped(), options).status.ok());
  const Verified planted = verify_with(reshaped(), options, {sample_of_reshaped()});
  CHECK(planted.status.code() == StatusCode::internal);
  CHECK_THAT(planted.status.message(),
             Catch::Contains("'changes_a_weight'") && Catch::Contains("'product'"));
}

TEST_CASE("pass verification: an import refuses samples that do not fit the net") {
  const std::string bytes = reshaped().bytes();
  const std::vector<Tensor> fitting = sample_of_reshaped();
  ImportOptions options;
  options.verify = true;
  NamedTensors sample = {{"x", fitting[0]}, {"shape", fitting[1]}};
  const auto import_with = [&] {
    options.samples = [&](const Net&) -> Result<std::vector<NamedTensors>> {
      return std::vector<NamedTensors>{{{"x", fitting[0]}, {"shape", fitting[1]}}, sample};
    };
    return Net::import_memory(bytes.data(), bytes.size(), {}, options).status();
  };
  CHECK(import_with().ok());
  const auto check_refused = [&](const char* message) {
    const Status refused = import_with();
    CHECK(refused.code() == StatusCode::invalid_argument);
    CHECK_THAT(refused.message(), Catch::Contains("sample 1") && Catch::Contains(message));
  };
  sample["x"] = fitting[1];
  check_refused("input 'x' is int64, the net takes float32");
  sample["x"] = Tensor::create(DataType::float32, Shape{2, 5}).value();
  check_refused("input 'x' has the shape 2x5, the net takes 2x6");
  sample.erase("x");
  check_refused("there is no input 'x'");
}

TEST_CASE("pass verification: an import that asks for it says in the log what it verified") {
  std::vector<std::string> lines;
  NetOptions options;
  options.threads = 1;
  options.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  const std::string bytes = convolution().bytes();
  const auto logged = [&] {
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("passes were verified") != std::string::npos;
    });
  };
  REQUIRE(Net::import_memory(bytes.data(), bytes.size(), options).ok());
  CHECK_FALSE(logged());
  ImportOptions verify;
  verify.verify = true;
  REQUIRE(Net::import_memory(bytes.data(), bytes.size(), options, verify).ok());
  CHECK(logged());
}
