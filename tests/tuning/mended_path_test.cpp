// Tuned paths of which some choices do not apply here: what replaces them, and what is said of it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/select/candidates.h"
#include "selection/default_path.h"
#include "small_net.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

const Shape kImage{1, 32, 40, 40};
const char* const kMissing = "cpu:float32:nhwc/of_another_library";

// Convolutions that run in channels-last by default, with adapts at both ends alone.
std::shared_ptr<const Graph> conv_chain() {
  SmallNetBuilder b;
  TensorId x = b.input("image", DynamicShape(kImage));
  for (int l = 0; l < 6; ++l)
    x = b.unary("relu", "relu" + std::to_string(l),
                b.conv("conv" + std::to_string(l), x, 32, 32, 3));
  b.graph.outputs = {x};
  return finished(std::move(b.graph));
}

NetOptions one_thread() {
  NetOptions options;
  options.threads = 1;
  return options;
}

struct Fixture {
  std::shared_ptr<const Graph> graph = conv_chain();
  std::shared_ptr<Runtime> runtime = make_runtime(one_thread()).value();
  std::vector<Shape> shapes = {kImage};
  NetProblems problems = infer_problems(runtime, graph, shapes).value();
  RoutinePath usual = default_path(runtime->routine_context(), problems, {}).value();
  ReplacedChoices replaced;

  LayerId id_of(const std::string& name) const {
    for (const Layer& layer : graph->layers())
      if (layer.name == name) return layer.id;
    FAIL("no layer " << name);
    return {};
  }
  // The default choices of all layers as a tuned path.
  RoutinePath tuned() const {
    RoutinePath path = usual;
    path.machine = machine_name();
    path.shapes = {{"image", kImage}};
    return path;
  }
  std::shared_ptr<const Plan> plan_of(const RoutinePath& path) {
    replaced = {};
    const auto plan = build_plan(runtime, graph, shapes, path, &replaced);
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    return *plan;
  }
  // A choice that computes in 8 bits between 8-bit tensors.
  Choice qint8_choice(const std::string& layer) const {
    const CandidateRules rules{.schemas = {"cpu:qint8"}};
    for (const LayerCandidates& known :
         list_candidates(runtime->routine_context(), problems, rules).value())
      for (const Candidate& candidate : known.candidates)
        if (known.layer.layer->name == layer &&
            candidate.formats.inputs[0].type == DataType::qint8 &&
            candidate.formats.outputs[0].type == DataType::qint8)
          return candidate.choice();
    FAIL("no choice in 8 bits of " << layer);
    return {};
  }
  // Another choice in that layout than the default one.
  Choice other_choice(const std::string& layer, Layout layout) const {
    const CandidateRules rules{.schemas = {"cpu:float32"}};
    const auto layers = list_candidates(runtime->routine_context(), problems, rules).value();
    for (const LayerCandidates& known : layers) {
      if (known.layer.layer->name != layer) continue;
      const Choice& planned = usual.layers.at(known.layer.layer->id);
      for (const Candidate& candidate : known.candidates) {
        UNSCOPED_INFO(candidate.str() << ' ' << candidate.formats.str());
        const Choice choice = candidate.choice();
        if (choice.formats.inputs[0].layout == layout &&
            choice.formats.outputs[0].layout == layout &&
            (choice.routine != planned.routine || choice.params != planned.params))
          return choice;
      }
    }
    FAIL("no such candidate of " << layer);
    return {};
  }
};

std::size_t adapts_of(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(
      impl_of(plan).steps, [](const Step& step) { return step.layer->type->is_adapt(); }));
}

const Step& step_of(const Plan& plan, const std::string& layer) {
  for (const Step& step : impl_of(plan).steps)
    if (step.layer->name == layer) return step;
  FAIL("no step " << layer);
  return impl_of(plan).steps[0];
}

}  // namespace

TEST_CASE("mended path: what replaces a lost choice fits its neighbours, which stay") {
  Fixture f;
  RoutinePath path = f.tuned();
  const Choice kept = f.other_choice("conv3", Layout::channels_last);
  path.layers.at(f.id_of("conv3")) = kept;
  path.layers.at(f.id_of("conv2")).routine = kMissing;
  path.time_us = 80;
  path.untuned_us = 100;
  const auto plan = f.plan_of(path);
  CHECK(adapts_of(*plan) == adapts_of(*f.plan_of(f.tuned())));
  CHECK(step_of(*plan, "conv3").routine_name == kept.routine);
  CHECK(step_of(*plan, "conv3").params == kept.params);
  CHECK(step_of(*plan, "conv2").routine_name == f.usual.layers.at(f.id_of("conv2")).routine);
}

TEST_CASE("mended path: one sentence names the library, what is lost, and what it costs") {
  Fixture f;
  RoutinePath path = f.tuned();
  for (const char* layer : {"conv1", "conv2"}) path.layers.at(f.id_of(layer)).routine = kMissing;
  path.time_us = 80;
  path.untuned_us = 100;
  f.plan_of(path);
  CHECK(f.replaced.layers.size() == 2);
  CHECK_THAT(f.replaced.summary,
             Contains("2 of " + std::to_string(path.layers.size()) + " tuned choices") &&
                 Contains("no routines of 'of_another_library': 2 layers") &&
                 Contains("1.25 times as fast") && Contains("tune on this machine"));
  f.plan_of(f.tuned());
  CHECK(f.replaced.summary.empty());
}

TEST_CASE("mended path: what tuning gained may be more than what is left costs by the model") {
  Fixture f;
  RoutinePath path = f.tuned();
  const std::string kept = path.layers.at(f.id_of("conv3")).routine;
  for (auto& [id, choice] : path.layers)
    if (id != f.id_of("conv3")) choice.routine = kMissing;
  path.machine = machine_name(1);
  path.time_us = 1;
  path.untuned_us = 1000;
  CHECK(step_of(*f.plan_of(path), "conv3").routine_name == kept);
}

TEST_CASE("mended path: where all is lost, the net runs on its default plan") {
  Fixture f;
  RoutinePath path = f.tuned();
  for (auto& [id, choice] : path.layers) choice.routine = kMissing;
  const auto plan = f.plan_of(path);
  const auto untuned = build_default_plan(f.runtime, f.graph, f.shapes).value();
  CHECK(plan->describe() == untuned->describe());
}

TEST_CASE("mended path: what is left of it is given up where it costs more than it won") {
  Fixture f;
  RoutinePath path = f.tuned();
  for (auto& [id, choice] : path.layers) choice.routine = kMissing;
  const Choice blocked = f.other_choice("conv3", Layout::nchw16c);
  path.layers.at(f.id_of("conv3")) = blocked;
  path.time_us = 95;
  path.untuned_us = 100;
  const auto untuned = build_default_plan(f.runtime, f.graph, f.shapes).value();
  CHECK(f.plan_of(path)->describe() == untuned->describe());
  CHECK_THAT(f.replaced.summary, Contains("the net runs on its default plan"));
}

TEST_CASE(
    "mended path: floating-point choices of another instruction set are left to the defaults") {
  Fixture f;
  RoutinePath path = f.tuned();
  path.layers.at(f.id_of("conv3")) = f.other_choice("conv3", Layout::nchw16c);
  path.time_us = 80;
  path.untuned_us = 100;
  const auto untuned = build_default_plan(f.runtime, f.graph, f.shapes).value();
  CHECK(f.plan_of(path)->describe() != untuned->describe());
  const bool is_avx2 = vector_instructions(machine_name()) == "avx2";
  path.machine = is_avx2 ? "a processor, avx2 avx512, 32K" : "a processor, avx2, 32K";
  CHECK(f.plan_of(path)->describe() == untuned->describe());
  CHECK_THAT(f.replaced.summary, Contains(is_avx2 ? "with avx512" : "with avx2") &&
                                     Contains("the net runs on its default plan") &&
                                     Contains("1.25 times as fast") && Contains("Tune on this"));
  CHECK(f.replaced.layers.empty());
}

TEST_CASE("mended path: choices in 8 bits stay on another instruction set") {
  Fixture f;
  Graph graph = *f.graph;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t)
    if (TensorDef& def = graph.tensor(static_cast<TensorId>(t)); def.constant.empty())
      def.quantization = Quantization{.scales = {0.05f}, .zero_points = {3}};
  f.graph = std::make_shared<const Graph>(std::move(graph));
  f.problems = infer_problems(f.runtime, f.graph, f.shapes).value();
  RoutinePath path = f.tuned();
  path.machine = "a processor of another kind";
  for (const Layer& layer : f.graph->layers())
    if (layer.name != "conv5") path.layers[layer.id] = f.qint8_choice(layer.name);
  const auto plan = f.plan_of(path);
  CHECK(step_of(*plan, "conv3").routine_name == f.qint8_choice("conv3").routine);
  CHECK(step_of(*plan, "conv5").routine_name == f.usual.layers.at(f.id_of("conv5")).routine);
  CHECK_THAT(f.replaced.summary, Contains("only choices in 8 bits are used"));
}

TEST_CASE("mended path: the log has one warning, and each layer as information") {
  Fixture f;
  const TemporaryFolder folder;
  RoutinePath path = f.tuned();
  path.machine = "another machine";
  for (const char* layer : {"conv1", "conv2"}) path.layers.at(f.id_of(layer)).routine = kMissing;
  REQUIRE(save_dnn(*f.graph, folder.file("tuned.dnn"), std::span(&path, 1)).ok());
  std::vector<std::string> warnings, information;
  NetOptions options = one_thread();
  options.log = [&](LogLevel level, std::string_view text) {
    (level == LogLevel::warning ? warnings : information).emplace_back(text);
  };
  const Net net = Net::load(folder.file("tuned.dnn"), options).value();
  REQUIRE(net.prepare().ok());
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Contains("another machine"));
  CHECK_THAT(warnings[1], Contains("2 of "));
  CHECK(std::ranges::count_if(information, [](const std::string& line) {
          return line.find("cannot be used here") != std::string::npos;
        }) == 2);
}
