// Plugins that were built elsewhere (plugin.build), loaded as an application loads them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/registry.h"
#include "net/net_access.h"
#include "softneuro/net.h"
#include "support/skip.h"

using namespace softneuro;
using Catch::Contains;

namespace {

std::string plugin(const std::string& name) {
  const char* folder = std::getenv("SOFTNEURO_TEST_PLUGINS");
  return std::string(folder != nullptr ? folder : ".") + '/' + name + ".so";
}
const std::string& example() {
  static const std::string path = plugin("plugin/example_plugin");
  return path;
}

Tensor filled(const Shape& shape, int seed) {
  Tensor tensor = *Tensor::create(DataType::float32, shape);
  for (float& value : tensor.mutable_values<float>()) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    value = static_cast<float>(seed / 65536 % 17 - 8);  // small integers: sums are exact
  }
  return tensor;
}

// x[rows, depth] → dense with constant weights and bias → unary function → y
struct DenseNet {
  Graph graph;
  TensorId x, w, bias, h, y;

  DenseNet(std::int64_t rows, std::int64_t depth, std::int64_t columns, const char* op,
           bool transposed = false) {
    x = tensor("x", Shape{rows, depth});
    w = graph.add_constant("w",
                           filled(transposed ? Shape{columns, depth} : Shape{depth, columns}, 1));
    bias = graph.add_constant("bias", filled(Shape{columns}, 2));
    h = tensor("h", Shape{rows, columns});
    y = tensor("y", Shape{rows, columns});
    graph.inputs = {x};
    graph.outputs = {y};
    Params dense;
    dense.set("transpose_weights", std::int64_t{transposed});
    layer("dense", "product", {x, w, bias}, {h}, dense);
    Params unary;
    unary.set("op", std::string(op));
    layer("unary", "function", {h}, {y}, unary);
  }

  // The function fused into the product.
  void fuse(UnaryOp op) {
    graph.remove_layers({false, true});
    Layer& product = graph.layers()[0];
    product.outputs = {y};
    PostOp post_op;
    post_op.unary = op;
    product.post_ops = {post_op};
  }

  TensorId tensor(std::string name, const Shape& shape) {
    TensorDef def;
    def.name = std::move(name);
    def.type = DataType::float32;
    def.shape = shape;
    return graph.add_tensor(std::move(def));
  }
  void layer(const char* type, std::string name, std::vector<TensorId> in,
             std::vector<TensorId> out, Params params = {}) {
    graph.add_layer(*builtin_layer_types().find(type), std::move(name), std::move(in),
                    std::move(out), std::move(params));
  }
};

NetOptions with_plugins(std::vector<std::string> plugins) {
  NetOptions options;
  options.threads = 2;
  options.plugins = std::move(plugins);
  return options;
}

std::vector<float> run(const Net& net, const Tensor& x) {
  auto outputs = net.run({{"x", x}});
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  const auto values = outputs->at("y").values<float>();
  return {values.begin(), values.end()};
}

std::string plan_of(const Net& net) {
  return net.plan().value()->describe();
}

Status load_error(const std::string& path) {
  return NetAccess::from_graph(DenseNet(1, 1, 1, "relu").graph, with_plugins({path})).status();
}

}  // namespace

TEST_CASE("the example plugin is chosen and computes what the built-in routines compute") {
  for (const std::int64_t columns : {1, 7, 8, 9, 16, 17, 40})
    for (const bool transposed : {false, true}) {
      const DenseNet model(5, 13, columns, "relu", transposed);
      const auto expected = NetAccess::from_graph(model.graph, with_plugins({}));
      const auto net = NetAccess::from_graph(model.graph, with_plugins({example()}));
      INFO(net.status().message());
      REQUIRE((expected.ok() && net.ok()));
      CHECK_THAT(plan_of(*net), Contains("cpu/example_panels") && Contains("cpu/example_relu"));
      CHECK_THAT(plan_of(*expected), !Contains("example"));
      const Tensor x = filled(Shape{5, 13}, 3);
      CHECK(run(*net, x) == run(*expected, x));
    }
}

TEST_CASE("a plugin takes the post-ops that it knows, others stand behind its kernel") {
  for (const UnaryOp op : {UnaryOp::relu, UnaryOp::tanh}) {
    DenseNet model(4, 6, 10, to_string(op));
    const auto apart = NetAccess::from_graph(model.graph, with_plugins({}));
    model.fuse(op);
    const auto fused = NetAccess::from_graph(model.graph, with_plugins({example()}));
    INFO(fused.status().message());
    REQUIRE((apart.ok() && fused.ok()));
    CHECK_THAT(plan_of(*fused), Contains("cpu/example_panels"));
    const Tensor x = filled(Shape{4, 6}, 5);
    const std::vector<float> expected = run(*apart, x);
    const std::vector<float> actual = run(*fused, x);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      CHECK(actual[i] == Approx(expected[i]).margin(1e-6));
  }
}

TEST_CASE("relu of a plugin over many chunks, NaN included") {
  DenseNet model(1, 1, 1, "relu");
  model.graph.remove_layers({true, false});
  const Shape shape{3, 40000};
  model.graph.tensor(model.h).shape = shape;
  model.graph.tensor(model.y).shape = shape;
  model.graph.inputs = {model.h};
  const auto net = NetAccess::from_graph(model.graph, with_plugins({example()}));
  INFO(net.status().message());
  REQUIRE(net.ok());
  CHECK_THAT(plan_of(*net), Contains("cpu/example_relu"));
  Tensor x = filled(shape, 7);
  x.mutable_values<float>()[12345] = NAN;
  auto outputs = net->run({{"h", x}});
  REQUIRE(outputs.ok());
  const auto y = outputs->at("y").values<float>();
  bool is_right = true;
  for (std::size_t i = 0; i < y.size(); ++i)
    is_right &= i == 12345 ? std::isnan(y[i]) : y[i] == std::max(x.values<float>()[i], 0.0f);
  CHECK(is_right);
}

TEST_CASE("a plugin's refusal and its reason reach explain") {
  const auto net =
      NetAccess::from_graph(DenseNet(2, 3, 4, "tanh").graph, with_plugins({example()}));
  INFO(net.status().message());
  REQUIRE(net.ok());
  const Layer* layer = NetAccess::graph(*net).find_layer("function");
  TensorSpec input;
  input.type = DataType::float32;
  input.shape = Shape{2, 4};
  const auto problem = make_problem(*layer, std::vector<TensorSpec>{input});
  REQUIRE(problem.ok());
  int seen = 0;
  for (const RoutineAnswer& answer : RoutineContext(NetAccess::registry(*net))
                                         .explain(std::make_shared<const Problem>(*problem))) {
    if (answer.routine->descriptor().str() != "cpu/example_relu") continue;
    ++seen;
    CHECK(answer.reason == "the function is tanh, this routine knows relu only");
    CHECK(answer.routine->facts().default_rank == 1000);
  }
  CHECK(seen == 1);
  CHECK_THAT(plan_of(*net), Contains("cpu/example_panels") && !Contains("cpu/example_relu"));
}

TEST_CASE("a plugin's parameter space proposes in view of what was measured") {
  const DenseNet model(5, 13, 40, "relu");
  const auto net = NetAccess::from_graph(model.graph, with_plugins({example()}));
  INFO(net.status().message());
  REQUIRE(net.ok());
  const Routine* routine = NetAccess::registry(*net).find("dense", "cpu/example_panels");
  REQUIRE(routine != nullptr);
  std::vector<TensorSpec> inputs;
  for (const TensorId id : {model.x, model.w, model.bias})
    inputs.push_back({.type = DataType::float32,
                      .shape = model.graph.tensor(id).shape.to_shape(),
                      .constant = model.graph.tensor(id).is_constant(),
                      .value = model.graph.tensor(id).constant});
  const auto problem = make_problem(*NetAccess::graph(*net).find_layer("product"), inputs);
  INFO(problem.status().message());
  REQUIRE(problem.ok());
  const auto implementation =
      RoutineContext(NetAccess::registry(*net)).implement(*routine, *problem);
  INFO(implementation.status().message());
  REQUIRE(implementation.ok());
  const ParamSpace space = (*implementation)->param_space();
  const auto panel = [](std::int64_t value) {
    Params params;
    params.set("panel", value);
    return params;
  };
  CHECK((*implementation)->default_params() == panel(16));
  CHECK(space.propose(std::vector<Trial>{{panel(16), 10}}, 7).params == std::vector{panel(8)});
  CHECK(space.propose(std::vector<Trial>{{panel(16), 10}, {panel(8), 5}}, 6).params ==
        std::vector{panel(4)});
  const Proposal last =
      space.propose(std::vector<Trial>{{panel(16), 10}, {panel(8), 5}, {panel(4), 7}}, 5);
  CHECK(last.params.empty());
  CHECK(last.is_last);

  CHECK((*implementation)->check_params(panel(2)).ok());
  CHECK((*implementation)->check_params(panel(3)).reason() ==
        "panel is 3, not a power of two up to 16");
  Params text;
  text.set("panel", std::string("8"));
  CHECK_FALSE((*implementation)->check_params(text).ok());
  CHECK_FALSE((*implementation)->check_params({}).ok());
}

TEST_CASE("a plugin's routines are tuned, saved and loaded: a parameter, and a net inside") {
  const char* routine = GENERATE("cpu/example_panels", "cpu/example_product");
  CAPTURE(routine);
  const DenseNet model(5, 13, 8, "relu", true);
  const Tensor x = filled(Shape{5, 13}, 3);
  const auto expected = NetAccess::from_graph(model.graph, with_plugins({}));
  auto net = NetAccess::from_graph(model.graph, with_plugins({example()}));
  REQUIRE((expected.ok() && net.ok()));
  TuneOptions options;
  options.selection.pin = {{"product", routine}};
  options.cache.disabled = true;
  const auto report = net->tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  const auto layer = std::ranges::find(report->layers, "product", &TunedLayer::layer);
  REQUIRE(layer != report->layers.end());
  CHECK(layer->routine == routine);
  CHECK_THAT(layer->params, Contains(layer->routine == "cpu/example_panels" ? "panel=" : "inner="));
  if (layer->routine == "cpu/example_panels") CHECK(layer->candidates >= 3);
  CHECK(run(*net, x) == run(*expected, x));

  const std::string file = plugin("tuned.dnn");
  REQUIRE(net->save(file).ok());
  const auto loaded = Net::load(file, with_plugins({example()}));
  INFO(loaded.status().message());
  REQUIRE(loaded.ok());
  CHECK_THAT(plan_of(*loaded), Contains(routine));
  CHECK(run(*loaded, x) == run(*expected, x));
}

TEST_CASE("the example plugin refuses weights of another type than its own") {
  const DenseNet model(2, 3, 4, "relu");
  const auto net = NetAccess::from_graph(model.graph, with_plugins({example()}));
  INFO(net.status().message());
  REQUIRE(net.ok());
  const Layer* layer = NetAccess::graph(*net).find_layer("product");
  const auto constant = [](const Tensor& value) {
    TensorSpec spec;
    spec.type = value.data_type();
    spec.shape = value.shape();
    spec.constant = true;
    spec.value = value;
    return spec;
  };
  TensorSpec x;
  x.type = DataType::float32;
  x.shape = Shape{2, 3};
  const Registry& registry = NetAccess::registry(*net);
  auto problem = make_problem(*layer, std::vector<TensorSpec>{x, constant(filled(Shape{3, 4}, 1)),
                                                              constant(filled(Shape{4}, 2))});
  REQUIRE(problem.ok());
  const Routine* routine = registry.find("dense", "cpu/example_panels");
  REQUIRE(routine != nullptr);
  const RoutineContext context(registry);
  CHECK(context.check(*routine, *problem).ok());
  // As in a float16 model that is computed in float32.
  problem->inputs[1] = constant(*Tensor::create(DataType::float16, Shape{3, 4}));
  CHECK(context.check(*routine, *problem).reason() == "input 1 is not float32");
}

TEST_CASE("SOFTNEURO_PLUGINS names plugins for nets that name none") {
  const Graph graph = DenseNet(2, 3, 4, "relu").graph;
  REQUIRE(setenv("SOFTNEURO_PLUGINS",
                 (':' + example() + "::" + plugin("invalid_plugins/failing")).c_str(), 1) == 0);
  const auto net = NetAccess::from_graph(graph, {});
  const auto given_list =
      NetAccess::from_graph(graph, with_plugins({plugin("invalid_plugins/failing")}));
  REQUIRE(setenv("SOFTNEURO_PLUGINS", "/nowhere/plugin.so", 1) == 0);
  const auto missing = NetAccess::from_graph(graph, {});
  REQUIRE(unsetenv("SOFTNEURO_PLUGINS") == 0);
  const auto none = NetAccess::from_graph(graph, {});
  INFO(net.status().message() << given_list.status().message());
  REQUIRE((net.ok() && given_list.ok() && none.ok()));
  CHECK_THAT(plan_of(*net), Contains("cpu/example_panels"));
  CHECK(NetAccess::registry(*net).find("softmax", "cpu/failing") != nullptr);
  CHECK_THAT(plan_of(*given_list), !Contains("example"));
  CHECK(missing.status().code() == StatusCode::not_found);
  CHECK_THAT(plan_of(*none), !Contains("example"));
}

TEST_CASE("the library's own plugins are found beside it, unless they are not wanted") {
  const char* const installed = std::getenv("SOFTNEURO_TEST_OWN_PLUGIN");
  if (installed == nullptr) {
    WARN("no library plugin is built");
    return;
  }
  const auto has_it = [](const Net& net) {
    return NetAccess::registry(net).find("conv2", "cpu:float32:nhwc/onednn") != nullptr;
  };
  const Graph graph = DenseNet(2, 3, 4, "relu").graph;
  const auto found = NetAccess::from_graph(graph, {});
  const auto named_too = NetAccess::from_graph(graph, with_plugins({installed}));
  const auto beside_others = NetAccess::from_graph(graph, with_plugins({example()}));
  const auto unwanted = NetAccess::from_graph(graph, with_plugins({"none"}));
  const auto named_alone = NetAccess::from_graph(graph, with_plugins({"none", installed}));
  REQUIRE(setenv("SOFTNEURO_PLUGINS", ("none:" + example()).c_str(), 1) == 0);
  const auto by_environment = NetAccess::from_graph(graph, {});
  REQUIRE(unsetenv("SOFTNEURO_PLUGINS") == 0);
  for (const auto* net :
       {&found, &named_too, &beside_others, &unwanted, &named_alone, &by_environment}) {
    INFO(net->status().message());
    REQUIRE(net->ok());
  }
  CHECK(has_it(*found));
  CHECK(has_it(*named_too));
  CHECK(has_it(*beside_others));
  CHECK_FALSE(has_it(*unwanted));
  CHECK(has_it(*named_alone));
  CHECK_FALSE(has_it(*by_environment));
  // A plan that was not tuned is the same with and without them.
  CHECK(plan_of(*found) == plan_of(*unwanted));
}

TEST_CASE("a plan and its sessions keep a plugin loaded when the net is gone") {
  std::shared_ptr<const Plan> plan;
  {
    const auto net =
        NetAccess::from_graph(DenseNet(2, 3, 4, "relu").graph, with_plugins({example()}));
    REQUIRE(net.ok());
    plan = net->plan().value();
  }
  auto session = Session::create(std::move(plan));
  REQUIRE(session.ok());
  const Tensor x = filled(Shape{2, 3}, 3);
  Tensor y;
  CHECK(session->run({&x, 1}, {&y, 1}).ok());
}

TEST_CASE("what is no plugin for this library is refused with a message") {
  SECTION("another ABI version") {
    const Status status = load_error(plugin("invalid_plugins/wrong_abi"));
    CHECK(status.code() == StatusCode::incompatible);
    CHECK(status.message() ==
          "plugin '" + plugin("invalid_plugins/wrong_abi") +
              "' was built for plugin ABI 7, this library supports 1: rebuild it "
              "against this SoftNeuro");
  }
  SECTION("a library plugin of another build") {
    const Status status = load_error(plugin("invalid_plugins/wrong_tag"));
    CHECK(status.code() == StatusCode::incompatible);
    CHECK_THAT(status.message(), Contains("0.0.9-0123456789abcdef") && Contains("same build"));
  }
  SECTION("a shared library without the entry") {
    const Status status = load_error(plugin("invalid_plugins/no_entry"));
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK_THAT(status.message(), Contains("has no sn_plugin_entry"));
  }
  SECTION("a file that is no library") {
    const std::string path = plugin("text");
    std::ofstream(path) << "not a library\n";
    const Status status = load_error(path);
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK_THAT(status.message(), Contains(path) && Contains("cannot be loaded"));
  }
  SECTION("no file") {
    const Status status = load_error("/nowhere/plugin.so");
    CHECK(status.code() == StatusCode::not_found);
    CHECK(status.message() == "plugin '/nowhere/plugin.so': No such file or directory");
  }
  SECTION("a bare name is a file here, never one of the system's libraries") {
    CHECK(load_error("libm.so.6").code() == StatusCode::not_found);
  }
  SECTION("twice") {
    const Status status =
        NetAccess::from_graph(DenseNet(1, 1, 1, "relu").graph, with_plugins({example(), example()}))
            .status();
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK_THAT(status.message(), Contains("'cpu/example_relu' of 'unary' exists already"));
  }
}

TEST_CASE("an error of a plugin's run names the layer, the routine and the plugin") {
  DenseNet model(2, 3, 4, "relu");
  model.graph.remove_layers({false, true});
  model.layer("softmax", "probabilities", {model.h}, {model.y});
  const auto net =
      NetAccess::from_graph(model.graph, with_plugins({plugin("invalid_plugins/failing")}));
  INFO(net.status().message());
  REQUIRE(net.ok());
  const auto outputs = net->run({{"x", filled(Shape{2, 3}, 3)}});
  CHECK(outputs.status().code() == StatusCode::io_error);
  CHECK(outputs.status().message() ==
        "layer 'probabilities': routine cpu/failing of plugin 'failing': the sensor is unplugged");
}
