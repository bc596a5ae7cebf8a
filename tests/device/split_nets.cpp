#include "device/split_nets.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/base/element.h"
#include "core/routine/implement_choice.h"
#include "core/routine/layer_cost.h"
#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
#include "device/fake_cuda.h"
#endif
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "support/graph_evaluator.h"
#include "support/skip.h"
#include "support/tensor_difference.h"
#include "tuning/small_net.h"

namespace softneuro::test {
namespace {

Graph attention() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 6, 16});
  const TensorId norm =
      b.layer("layer_norm", {x, b.random({16}), b.random({16})}, {{"axis", std::int64_t{-1}}});
  const auto projected = [&] {
    const TensorId y = b.layer("dense", {norm, b.random({16, 16}), b.random({16})});
    const TensorId split = b.layer("reshape", {y, b.integers({1, 6, 2, 8})});
    return b.layer("transpose", {split}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  };
  const TensorId q = projected(), k = projected(), v = projected();
  const TensorId transposed =
      b.layer("transpose", {k}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const TensorId scores = b.binary("mul", b.layer("matmul", {q, transposed}), b.scalar(0.35));
  const TensorId weights = b.layer("softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const TensorId mixed = b.layer("transpose", {b.layer("matmul", {weights, v})},
                                 {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  const TensorId joined = b.layer("reshape", {mixed, b.integers({1, 6, 16})});
  const TensorId out = b.layer("dense", {joined, b.random({16, 16}), b.random({16})});
  return b.finish({b.binary("add", out, x), weights});
}

Graph recurrent() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{5, 2, 4});
  const TensorId first = b.layer("gru", {x, b.random({1, 9, 4}), b.random({1, 9, 3})});
  const TensorId flat = b.layer("reshape", {first, b.integers({5, 2, 3})});
  const TensorId second = b.layer("gru", {flat, b.random({1, 6, 3}), b.random({1, 6, 2})});
  return b.finish({b.unary("tanh", second), b.reduce("mean", flat, {0})});
}

// Integers and booleans cross between the devices, too.
Graph masked() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{2, 3, 4});
  const TensorId ids = b.input("ids", Shape{2, 3}, DataType::int64);
  const TensorId rows = b.layer("gather", {b.random({8, 4}), ids});
  const TensorId above = b.binary("greater", x, rows);
  const TensorId picked = b.layer("where", {above, x, rows});
  const TensorId same = b.binary(
      "equal", ids,
      b.layer(
          "arg_reduce", {picked},
          {{"op", std::string("max")}, {"axis", std::int64_t{2}}, {"keepdims", std::int64_t{0}}}));
  return b.finish({picked, same, b.binary("add", ids, ids)});
}

Tensor random_input(const TensorDef& def, const Shape& shape, std::uint32_t seed) {
  Tensor tensor = Tensor::create(def.type, shape).value();
  std::mt19937 random(seed);
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < view.elements(); ++i)
    store(view, i,
          is_float(def.type) ? static_cast<double>(random() >> 8) * 0x1p-24 : random() % 8);
  return tensor;
}

// The outputs of the first one; all runs must give these.
std::vector<Tensor> run_of(const SplitNet& net, const std::shared_ptr<const Plan>& plan, int runs) {
  auto session = Session::create(plan);
  INFO(session.status().message());
  REQUIRE(session.ok());
  std::vector<Tensor> first;
  for (int run = 0; run < runs; ++run) {
    std::vector<Tensor> outputs(plan->outputs().size());
    const Status status = session->run(net.inputs, outputs);
    INFO("run " << run << ": " << status.message());
    REQUIRE(status.ok());
    if (run > 0)
      for (std::size_t o = 0; o < outputs.size(); ++o)
        REQUIRE(difference(outputs[o], first[o], {}) == "");
    else
      for (const Tensor& output : outputs) first.push_back(output.clone().value());
  }
  return first;
}

}  // namespace

SplitNet split_net(std::string name, Graph graph, std::vector<Shape> shapes,
                   std::shared_ptr<TestControl> control) {
  SplitNet net;
  net.name = std::move(name);
  net.control = std::move(control);
  NetOptions options;
  options.threads = 1;
  options.log = [warnings = net.warnings](LogLevel level, std::string_view line) {
    if (level >= LogLevel::warning) warnings->add(line);
  };
  options.plugins = {"none"};  // the GPU that is tested comes from below
  net.runtime = make_runtime(options).value();
  auto& registry = const_cast<Registry&>(net.runtime->registry());
  REQUIRE(add_test_device(registry, net.control).ok());
#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
  REQUIRE(add_gpu_or_fake(registry).ok());
#endif
  net.graph = std::make_shared<const Graph>(std::move(graph));
  for (std::size_t i = 0; i < net.graph->inputs.size(); ++i) {
    const TensorDef& def = net.graph->tensor(net.graph->inputs[i]);
    net.shapes.push_back(i < shapes.size() ? shapes[i] : def.shape.to_shape());
    net.inputs.push_back(random_input(def, net.shapes.back(), 5));
  }
  return net;
}

std::vector<SplitNet> split_nets() {
  std::vector<SplitNet> nets;
  const Net trained = Net::load(source_dir() + "/models/shapes/shapes.dnn").value();
  nets.push_back(split_net("shapes", NetAccess::graph(trained), {Shape{1, 3, 32, 32}}));
  nets.push_back(attention_net());
  nets.push_back(split_net("recurrent", recurrent(), {}));
  nets.push_back(split_net("masked", masked(), {}));
  nets.push_back(branching_net());
  return nets;
}

SplitNet attention_net(std::shared_ptr<TestControl> control) {
  return split_net("attention", attention(), {}, std::move(control));
}

SplitNet branching_net() {
  const Net branches = NetAccess::from_graph(small_graph()).value();
  return split_net("branches", NetAccess::graph(branches), {});
}

NetProblems SplitNet::problems() const {
  return infer_problems(runtime, graph, shapes).value();
}

RoutinePath SplitNet::random_path(std::uint32_t seed, double share, DeviceId device) const {
  std::mt19937 random(seed);
  const auto among = [&](std::size_t count) { return random() % count; };
  RoutinePath path;
  const NetProblems net = problems();
  const RoutineContext context = runtime->routine_context();
  for (const LayerProblem& layer : net.layers) {
    const Problem& problem = layer.problem;
    const bool is_there = static_cast<double>(random() % 1000) < share * 1000;
    if (layer_steps(problem) > most_steps) continue;
    std::vector<Choice> choices;
    const auto add = [&](const std::string& routine, const FormatTuple& formats,
                         const RoutineParams& params) {
      Choice choice{routine, params, formats, 0};
      if (implement_choice(context, problem, choice).ok()) choices.push_back(std::move(choice));
    };
    if (problem.type->is_view) {
      FormatTuple formats = formats_of(problem);
      if (is_there) formats.inputs[0].device = formats.outputs[0].device = device;
      add("", formats, {});
    } else {
      for (const Routine* routine : context.registry().routines(problem.type->name)) {
        if (routine->descriptor().device != (is_there ? device : DeviceId())) continue;
        if (routine->descriptor().precision() != Precision(DataType::float32)) continue;
        for (const FormatTuple& formats : routine->formats(problem))
          if (const auto made = context.implement(*routine, with_formats(problem, formats));
              made.ok())
            add(routine->descriptor().str(), formats, (*made)->default_params());
      }
    }
    if (!choices.empty()) path.layers.emplace(layer.layer->id, choices[among(choices.size())]);
  }
  return path;
}

std::shared_ptr<const Plan> SplitNet::plan(const RoutinePath& path) const {
  ReplacedChoices replaced;
  const auto plan = build_plan(runtime, graph, shapes, path, &replaced);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  for (const std::string& line : replaced.layers) UNSCOPED_INFO(line);
  REQUIRE(replaced.layers.empty());
  return *plan;
}

std::vector<Tensor> SplitNet::run(const std::shared_ptr<const Plan>& plan) const {
  return run_of(*this, plan, 1);
}

std::vector<Tensor> SplitNet::run_repeatedly(const std::shared_ptr<const Plan>& plan) const {
  std::vector<Tensor> outputs = run_of(*this, plan, 4);
  for (const std::string& line : warnings->take()) FAIL(line);
  return outputs;
}

}  // namespace softneuro::test
