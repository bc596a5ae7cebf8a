// Plans on given paths: any path computes what the net means; what does not apply is replaced.
#include <catch2/catch.hpp>
#include <cmath>

#include "adapt/insert_adapts.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "net/make_runtime.h"
#include "net/net_impl.h"
#include "net/tuned_plan.h"
#include "profiler/select/candidates.h"
#include "small_net.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

struct Fixture {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;
  std::vector<Shape> shapes;
  std::vector<LayerCandidates> layers;

  explicit Fixture(const std::vector<std::string>& schemas) {
    graph = finished(small_graph());
    NetOptions options;
    options.threads = 2;
    runtime = make_runtime(options).value();
    shapes = {Shape{1, 3, 12, 12}};
    const NetProblems problems = infer_problems(runtime, graph, shapes).value();
    layers = list_candidates(runtime->routine_context(), problems, {schemas, 4}).value();
  }

  std::vector<Tensor> run(const RoutinePath& path) const {
    ReplacedChoices replaced;
    const auto plan = build_plan(runtime, graph, shapes, path, &replaced);
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    CHECK(replaced.layers.empty());
    Session session = Session::create(*plan).value();
    const std::vector<Tensor> inputs = {random_image(1)};
    std::vector<Tensor> outputs(2);
    const Status status = session.run(inputs, outputs);
    INFO(status.message());
    REQUIRE(status.ok());
    for (Tensor& output : outputs) output = output.clone().value();
    return outputs;
  }
};

}  // namespace

TEST_CASE("path: whatever routines and formats are mixed, the net computes the same") {
  const Fixture fixture({"cpu:float32", "cpu:float16"});
  const std::vector<Tensor> expected = fixture.run({});
  std::mt19937 random(3);
  std::size_t adapted = 0;
  for (int round = 0; round < 60; ++round) {
    RoutinePath path;
    std::string text;
    for (const LayerCandidates& layer : fixture.layers) {
      const Candidate& c = layer.candidates[random() % layer.candidates.size()];
      path.layers.emplace(layer.layer.layer->id, c.choice());
      text += layer.layer.layer->name + ": " + c.str() + ' ' + c.formats.str() + '\n';
    }
    INFO(text);
    adapted += insert_adapts(*fixture.graph, path).value().graph->layers().size() -
               fixture.graph->layers().size();
    const std::vector<Tensor> outputs = fixture.run(path);
    CHECK(relative_error(expected[0], outputs[0]) < 5e-3);
    CHECK(relative_error(expected[1], outputs[1]) < 5e-3);
  }
  CHECK(adapted > 60);  // or the test would say nothing about adapts
}

TEST_CASE("path: an adapt is shared by consumers that want the same, and comes in one step") {
  const Fixture fixture({"cpu:float32"});
  RoutinePath path;
  const auto choose = [&](const std::string& name, Layout layout) {
    for (const LayerCandidates& layer : fixture.layers) {
      if (layer.layer.layer->name != name) continue;
      for (const Candidate& c : layer.candidates)
        if (c.formats.inputs[0].layout == layout) {
          path.layers.emplace(layer.layer.layer->id, c.choice());
          return;
        }
    }
    FAIL(name << " has no candidate in that layout");
  };
  choose("left", Layout::channels_last);
  choose("deep", Layout::channels_last);
  const AdaptedGraph adapted = insert_adapts(*fixture.graph, path).value();
  std::size_t adapts = 0;
  for (const Layer& layer : adapted.graph->layers()) adapts += layer.type->name == "adapt";
  // stem → nhwc for left; left → plain for sum; pool → nhwc for deep; deep → plain for skip.
  CHECK(adapts == 4);
  for (std::size_t o = 0; o < adapted.graph->outputs.size(); ++o)
    CHECK(adapted.graph->tensor(adapted.graph->outputs[o]).name ==
          fixture.graph->tensor(fixture.graph->outputs[o]).name);
  CHECK(adapted.graph->verify(builtin_layer_types()).ok());
}

TEST_CASE("path: a choice that does not apply here is replaced and told") {
  const Fixture fixture({"cpu:float32"});
  RoutinePath path;
  for (const LayerCandidates& layer : fixture.layers) {
    Choice choice = layer.candidates[0].choice();
    if (layer.layer.layer->name == "left") choice.routine = "cpu:float32:nhwc/of_another_library";
    if (layer.layer.layer->name == "right") choice.params.set("no_such_parameter", std::int64_t{3});
    if (layer.layer.layer->name == "pool") choice.formats.inputs[0].type = DataType::float64;
    path.layers.emplace(layer.layer.layer->id, std::move(choice));
  }
  path.layers.emplace(LayerId{4711}, Choice{});
  ReplacedChoices replaced;
  const auto plan = build_plan(fixture.runtime, fixture.graph, fixture.shapes, path, &replaced);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  CHECK(replaced.layers.size() == 3);
}

TEST_CASE("path: formats and tuples are read back as written") {
  for (const char* text : {"float32", "float16:nhwc", "qint8:nchw16c", "int64", "-", "cuda:float32",
                           "gpu1:float16:nhwc", "float16:nchw4c", "qint8:nchw1024c",
                           "accelerator0001:float32:nchw32c"})
    CHECK(Format::parse(text).value().str() == text);
  CHECK(Format::parse("cpu:float32").value().str() == "float32");
  for (const char* text : {"", "float31", "float32:", "float32:nhwcc", "nhwc", "cuda", "cuda:",
                           ":float32", "CUDA:float32", "1gpu:float32", "accelerator00001:float32",
                           "float32:nchw1c", "float32:nchw08c", "float32:nchw1025c",
                           "cuda:float32:nhwc:1", "float16:float32", "nhwc:float32"})
    CHECK_FALSE(Format::parse(text).ok());
  const FormatTuple tuple = FormatTuple::parse("float32:nhwc,-,int64 -> qint8:nhwc").value();
  CHECK(tuple.inputs.size() == 3);
  CHECK(tuple.str() == "float32:nhwc,-,int64 -> qint8:nhwc");
  CHECK_FALSE(FormatTuple::parse("float32").ok());
}
