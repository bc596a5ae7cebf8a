// What a net that was not tuned runs on: which layouts and routines, and that the output stays.
#include "selection/default_path.h"

#include <catch2/catch.hpp>
#include <limits>

#include "core/layers/builtin_layers.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "routines/builtin.h"
#include "small_net.h"
#include "support/simple_routine.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

struct Prepared {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;
  std::vector<Shape> shapes;
  NetProblems problems;

  Prepared(Graph made, std::vector<Shape> of_inputs, int threads = 2)
      : graph(finished(std::move(made))), shapes(std::move(of_inputs)) {
    NetOptions options;
    options.threads = threads;
    runtime = make_runtime(options).value();
    problems = infer_problems(runtime, graph, shapes).value();
  }

  RoutinePath path(const Registry& registry, std::vector<std::string> schemas = {}) const {
    const RoutineContext context(registry, runtime->pool().concurrency());
    const Result<RoutinePath> found = default_path(context, problems, schemas);
    INFO(found.status().message());
    REQUIRE(found.ok());
    return *found;
  }
  RoutinePath path(std::vector<std::string> schemas = {}) const {
    return path(runtime->registry(), std::move(schemas));
  }
  const Choice* choice(const RoutinePath& path, const std::string& layer) const {
    for (const Layer& known : graph->layers())
      if (known.name == layer) {
        const auto found = path.layers.find(known.id);
        return found == path.layers.end() ? nullptr : &found->second;
      }
    FAIL("no layer " << layer);
    return nullptr;
  }
  std::size_t adapts() const {
    const auto plan = build_default_plan(runtime, graph, shapes);
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    std::size_t count = 0;
    for (const Step& step : impl_of(**plan).steps) count += step.layer->type->is_adapt();
    return count;
  }
};

const Shape kImage{1, 16, 40, 40};

// Convolutions with what stands between them in most nets.
Graph conv_chain(int blocks) {
  SmallNetBuilder b;
  TensorId x = b.input("image", DynamicShape(kImage));
  x = b.conv("stem", x, 16, 32, 3);
  for (int i = 0; i < blocks; ++i) {
    const std::string name = "block" + std::to_string(i);
    TensorId y = b.unary("relu", name + ".relu", b.conv(name + ".wide", x, 32, 48, 1));
    y = b.conv(name + ".back", y, 48, 32, 3);
    x = b.unary("hard_swish", name + ".swish", b.add(name + ".sum", x, y));
  }
  b.graph.outputs = {x};
  return b.graph;
}

// A convolution that an application brought along, of a given rank.
class CustomConv final : public SimpleRoutine {
 public:
  explicit CustomConv(int rank) : SimpleRoutine("conv2", "cpu/custom"), rank_(rank) {}
  RoutineFacts facts() const override { return {.default_rank = rank_}; }
  double default_speed(const Problem&) const override {
    return std::numeric_limits<double>::infinity();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineContext&) const override {
    return Status(StatusCode::unsupported, "not run here");
  }

 private:
  int rank_;
};

// All tensors in channels-last.
Problem in_nhwc(const Problem& problem) {
  return with_formats(problem,
                      uniform_formats(problem, DataType::float32, Layout::channels_last).at(0));
}

}  // namespace

TEST_CASE("default path: a chain of convolutions has one layout, and adapts at its ends alone") {
  const Prepared net(conv_chain(6), {kImage});
  const RoutinePath path = net.path();
  CHECK(path.layers.size() >=
        net.problems.layers.size() - 1);  // the last may adapt before or after
  for (const auto& [id, choice] : path.layers) {
    INFO(choice.routine << ' ' << choice.formats.str());
    CHECK(choice.formats.outputs[0].layout == Layout::channels_last);
    CHECK(choice.time_us == 0);  // nothing was measured
  }
  CHECK(path.adapts.empty());
  CHECK(net.adapts() == 2);
}

TEST_CASE("default path: 3x3 convolutions with stride 1 take Winograd with the finer tiles") {
  const Prepared net(conv_chain(1), {kImage});
  const RoutinePath path = net.path();
  const Choice* const square = net.choice(path, "block0.back");
  REQUIRE(square != nullptr);
  CHECK(square->routine == "cpu:float32:nhwc/wg");
  CHECK(square->params.integer("tile_size") <= 6);
  const Choice* const point = net.choice(path, "block0.wide");
  REQUIRE(point != nullptr);
  CHECK(point->routine == "cpu:float32:nhwc/direct");
}

TEST_CASE("default path: without the libraries, own routines make as good a plan") {
  const Prepared net(conv_chain(3), {kImage});
  const Registry builtin = make_builtin_registry().value();
  const RoutinePath alone = net.path(builtin), with_libraries = net.path();
  CHECK(alone.layers.size() == with_libraries.layers.size());
  CHECK(alone.layers.size() >= net.problems.layers.size() - 1);
  for (const auto& [id, choice] : alone.layers) {
    REQUIRE(with_libraries.layers.count(id) == 1);
    CHECK(choice.formats == with_libraries.layers.at(id).formats);
  }
}

TEST_CASE("default path: equal nets have equal paths, whatever the number of threads") {
  const RoutinePath one = Prepared(conv_chain(3), {kImage}, 1).path();
  const RoutinePath two = Prepared(conv_chain(3), {kImage}, 2).path();
  REQUIRE(one.layers.size() == two.layers.size());
  for (const auto& [id, choice] : one.layers) {
    const Choice& other = two.layers.at(id);
    CHECK(choice.routine == other.routine);
    CHECK(choice.params == other.params);
    CHECK(choice.formats == other.formats);
  }
}

TEST_CASE("default path: adapts that cost more than they save are not made") {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 4, 5, 5}));
  b.graph.outputs = {b.conv("tiny", image, 4, 4, 1)};
  const Prepared tiny(std::move(b.graph), {Shape{1, 4, 5, 5}});
  CHECK(tiny.path().layers.empty());
  CHECK(tiny.adapts() == 0);

  SmallNetBuilder e;  // nothing to gain from another layout
  const TensorId x = e.input("x", DynamicShape(kImage));
  e.graph.outputs = {e.unary("tanh", "b", e.unary("exp", "a", x))};
  CHECK(Prepared(std::move(e.graph), {kImage}).path().layers.empty());
}

TEST_CASE("default path: keeps to the schemas that are allowed") {
  const Prepared net(conv_chain(2), {kImage});
  CHECK(net.path({"cpu:float32:plain"}).layers.empty());
  CHECK(net.path({"cpu:float32"}).layers.size() == net.path().layers.size());
  CHECK(net.path({"cpu:float32:nhwc"}).layers.size() == net.path().layers.size());
}

TEST_CASE("default path: data types stay the model's") {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(kImage));
  b.graph.tensor(image).type = DataType::float16;
  Params params;
  params.set("pads", std::vector<std::int64_t>(4, 1));
  const Tensor weights = Tensor::create(DataType::float16, Shape{32, 16, 3, 3}).value();
  const TensorId y = b.layer("conv2", "half", {image, b.graph.add_constant("w", weights)}, params);
  b.graph.outputs = {b.unary("relu", "relu", y)};
  const Prepared net(std::move(b.graph), {kImage});
  for (const auto& [id, choice] : net.path().layers) {
    CHECK(choice.formats.inputs[0].type == DataType::float16);
    CHECK(choice.formats.outputs[0].type == DataType::float16);
  }
}

TEST_CASE("default path: what only cpu/naive computes in 16 bits is computed in float32") {
  SmallNetBuilder b;
  const Shape shape{12, 2, 24};
  const TensorId x = b.input("x", DynamicShape(shape));
  b.graph.tensor(x).type = DataType::float16;
  const auto constant = [&](const char* name, const Shape& of) {
    return b.graph.add_constant(name, Tensor::create(DataType::float16, of).value());
  };
  const TensorId w = constant("w", Shape{1, 128, 24}), r = constant("r", Shape{1, 128, 32});
  b.graph.outputs = {b.layer("lstm", "lstm", {x, w, r}, {})};
  const Prepared net(std::move(b.graph), {shape});
  const RoutinePath path = net.path();
  REQUIRE(net.choice(path, "lstm") != nullptr);
  CHECK(net.choice(path, "lstm")->routine == "cpu/gemm");
  CHECK(net.adapts() == 2);
}

TEST_CASE("default path: a routine of the application is used where its rank says so") {
  const Prepared net(conv_chain(2), {kImage});
  Registry above = make_builtin_registry().value(), below = make_builtin_registry().value();
  REQUIRE(above.add(std::make_unique<CustomConv>(100)).ok());
  REQUIRE(below.add(std::make_unique<CustomConv>(5)).ok());
  const RoutinePath used = net.path(above), unused = net.path(below);
  CHECK(net.choice(used, "block0.back") == nullptr);  // the registry's default: cpu/custom
  const Choice* const other = net.choice(unused, "block0.back");
  REQUIRE(other != nullptr);
  CHECK(other->routine == "cpu:float32:nhwc/wg");
}

TEST_CASE("default path: estimates put routines in the order of their kinds") {
  const Prepared net(conv_chain(1), {kImage});
  const Registry& registry = net.runtime->registry();
  const auto cost = [&](const std::string& descriptor, const Problem& problem) {
    const Routine* const routine = registry.find("conv2", descriptor);
    REQUIRE(routine != nullptr);
    return estimated_cost(*net.runtime->routine_context().implement(*routine, problem).value());
  };
  for (const LayerProblem& layer : net.problems.layers) {
    if (layer.layer->name != "block0.back") continue;
    const Problem nhwc = in_nhwc(layer.problem);
    CHECK(cost("cpu:float32:nhwc/wg", nhwc) < cost("cpu:float32:nhwc/direct", nhwc));
    CHECK(cost("cpu:float32:nhwc/direct", nhwc) < cost("cpu/gemm", layer.problem));
  }
}

TEST_CASE("default path: an adapt costs what it moves, and nothing where it moves nothing") {
  const Format plain{DataType::float32, Layout::plain};
  const Format nhwc{DataType::float32, Layout::channels_last};
  CHECK(estimated_adapt_cost(Shape{1, 64, 1, 1}, plain, nhwc) == 0);
  CHECK(estimated_adapt_cost(Shape{1, 1, 64, 64}, plain, nhwc) == 0);
  const double small = estimated_adapt_cost(Shape{1, 8, 16, 16}, plain, nhwc);
  CHECK(small > 0);
  CHECK(estimated_adapt_cost(Shape{1, 8, 160, 160}, plain, nhwc) > 2 * small);
}

TEST_CASE("default path: what moves single elements in channels-last stays plain") {
  SmallNetBuilder b;
  const Shape gray{1, 1, 40, 40};
  std::vector<TensorId> colours;
  for (const char* name : {"red", "green", "blue"})
    colours.push_back(b.scaled(name + std::string("2"), b.input(name, DynamicShape(gray)), 0.5f));
  Params axis;
  axis.set("axis", std::int64_t{1});
  const TensorId image = b.layer("concat", "join", colours, axis);
  b.graph.outputs = {b.conv("conv", image, 3, 32, 3)};
  const Prepared net(std::move(b.graph), {gray, gray, gray});
  const RoutinePath path = net.path();
  CHECK(net.choice(path, "conv") != nullptr);
  CHECK(net.choice(path, "join") == nullptr);
}

TEST_CASE("default plan: computes what the registry's default choices do") {
  for (const bool chain : {true, false}) {
    const Shape shape = chain ? kImage : Shape{1, 3, 12, 12};
    const Prepared net(chain ? conv_chain(4) : small_graph(), {shape});
    const Tensor input = random_image(3, shape);
    std::vector<std::vector<Tensor>> outputs_of_plans;
    for (const auto& plan : {build_plan(net.runtime, net.graph, net.shapes),
                             build_default_plan(net.runtime, net.graph, net.shapes)}) {
      REQUIRE(plan.ok());
      Session session = Session::create(*plan).value();
      std::vector<Tensor> outputs((*plan)->outputs().size());
      REQUIRE(session.run({&input, 1}, outputs).ok());
      for (Tensor& output : outputs) output = output.clone().value();
      outputs_of_plans.push_back(std::move(outputs));
    }
    for (std::size_t o = 0; o < outputs_of_plans[0].size(); ++o)
      CHECK(relative_error(outputs_of_plans[0][o], outputs_of_plans[1][o]) < 1e-5);
  }
}

TEST_CASE("default plan: an untuned net runs on it") {
  NetOptions options;
  options.threads = 2;
  const Net net = NetAccess::from_graph(conv_chain(2), options).value();
  const auto plan = net.plan();
  REQUIRE(plan.ok());
  std::size_t nhwc = 0;
  for (const Step& step : impl_of(**plan).steps)
    nhwc += step.routine_name.find(":nhwc/") != std::string::npos;
  CHECK(nhwc >= 5);
}

TEST_CASE("default plan: layers whose shapes depend on data take the plain layout") {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(kImage));
  const TensorId y = b.conv("conv", b.conv("before", image, 16, 32, 3), 32, 32, 3);
  const TensorId places = b.layer("nonzero", "nonzero", {b.unary("relu", "relu", y)});
  b.graph.outputs = {y, places};
  const Prepared net(std::move(b.graph), {kImage});
  const RoutinePath path = net.path();
  CHECK(net.choice(path, "conv") != nullptr);
  CHECK(net.choice(path, "nonzero") == nullptr);
  CHECK(net.adapts() >= 2);
}
