// What does not fit stays on its device: in default plans, in tuned paths on other shapes and with
// other libraries, and where a kernel cannot be made.
#include <catch2/catch.hpp>

#include "core/plan/plan_impl.h"
#include "device/split_nets.h"
#include "net/tuned_plan.h"
#include "profiler/select/search_space.h"
#include "selection/default_path.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr Tolerance kTolerance = {1e-5, 1e-4, 0};
const DeviceId kTest = *DeviceId::parse("test");

std::shared_ptr<TestControl> control_with(std::vector<std::string> routines) {
  auto control = std::make_shared<TestControl>();
  control->routines = std::move(routines);
  return control;
}

// The routines of the plan's layers, apart from adapts and views; how many of each.
std::map<std::string, int> routines_of(const Plan& plan) {
  std::map<std::string, int> routines;
  for (const Step& step : impl_of(plan).steps)
    if (step.kernel != nullptr && !step.layer->type->is_adapt()) ++routines[step.routine_name];
  return routines;
}

std::size_t adapts_of(const Plan& plan) {
  std::size_t count = 0;
  for (const Step& step : impl_of(plan).steps)
    count += step.kernel != nullptr && step.layer->type->is_adapt();
  return count;
}

void check_right(const SplitNet& net, const std::shared_ptr<const Plan>& plan) {
  const std::vector<Tensor> expected = net.run(net.plan({})), outputs = net.run(plan);
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    CHECK(difference(outputs[o], expected[o], kTolerance) == "");
}

RoutinePath default_path_there(const SplitNet& net) {
  return default_path(net.runtime->routine_context(), net.problems(), {}, kTest).value();
}

// The path that a tuning for the device would give.
RoutinePath whole_path(const SplitNet& net) {
  RoutinePath path = default_path_there(net);
  path.machine = machine_of(path, net.runtime->registry(), 1);
  return path;
}

std::shared_ptr<const Plan> mended(const SplitNet& net, const RoutinePath& path,
                                   ReplacedChoices& replaced) {
  const auto plan = build_plan(net.runtime, net.graph, net.shapes, path, &replaced);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return *plan;
}

bool is_matmul(const Problem& problem) {
  return problem.type->name == "matmul";
}

}  // namespace

TEST_CASE("default path: on a device every layer is there, with adapts at both ends alone") {
  for (const SplitNet& net : split_nets()) {
    CAPTURE(net.name);
    const auto plan = net.plan(default_path_there(net));
    const std::map<std::string, int> routines = routines_of(*plan);
    CHECK(routines.size() == 1);
    CHECK(routines.contains("test/pages"));
    CHECK(adapts_of(*plan) <= net.graph->inputs.size() + net.graph->outputs.size());
    check_right(net, plan);
  }
}

TEST_CASE("default path: what the device has no routine for is on the host, and views beside it") {
  SplitNet net = attention_net();
  net.control->refuses = [](const std::string&, const Problem& problem) {
    return problem.type->name == "softmax";
  };
  const auto plan = net.plan(default_path_there(net));
  int on_host = 0;
  for (const auto& [routine, count] : routines_of(*plan))
    if (routine != "test/pages") on_host += count;
  CHECK(on_host == 1);
  // In, out twice, and to the softmax, whose result is an output, and back.
  CHECK(adapts_of(*plan) == 4);
  check_right(net, plan);
}

TEST_CASE("default path: the schemas rule the device's routines out like others") {
  const SplitNet net = attention_net();
  const std::vector<std::string> schemas = {"cpu"};
  const RoutinePath path =
      default_path(net.runtime->routine_context(), net.problems(), schemas, kTest).value();
  CHECK_FALSE(routines_of(*net.plan(path)).contains("test/pages"));
}

TEST_CASE("mended path: a lost routine's layer stays on its device, by another routine") {
  const SplitNet net = attention_net(control_with({"/pages", "/spare"}));
  const RoutinePath path = whole_path(net);
  net.control->refuses = [](const std::string& routine, const Problem& problem) {
    return routine == "test/pages" && is_matmul(problem);
  };
  ReplacedChoices replaced;
  const auto plan = mended(net, path, replaced);
  const std::map<std::string, int> routines = routines_of(*plan);
  CHECK(routines.size() == 2);
  CHECK(routines.at("test/spare") == 2);
  CHECK(replaced.layers.size() == 2);
  CHECK(replaced.summary.find("2 of them stay on test") != std::string::npos);
  check_right(net, plan);
}

TEST_CASE("mended path: parameters that do not fit give way to the routine's default ones") {
  const SplitNet net = attention_net(control_with({"/another", "/pages"}));
  RoutinePath path = whole_path(net);
  int changed = 0;
  for (auto& [id, choice] : path.layers) {
    if (choice.routine.empty()) continue;
    choice.routine = "test/pages";
    if (++changed % 2 == 0) choice.params.set("plan", std::string("of another library"));
  }
  ReplacedChoices replaced;
  const auto plan = mended(net, path, replaced);
  CHECK(routines_of(*plan).size() == 1);
  CHECK(routines_of(*plan).contains("test/pages"));
  CHECK(replaced.layers.size() == static_cast<std::size_t>(changed / 2));
  check_right(net, plan);
}

TEST_CASE("mended path: without any of its choices, the net is on its device all the same") {
  const SplitNet net = attention_net();
  RoutinePath path = whole_path(net);
  for (auto& [id, choice] : path.layers)
    if (!choice.routine.empty()) choice.routine = "test/gone";
  ReplacedChoices replaced;
  const auto plan = mended(net, path, replaced);
  CHECK(routines_of(*plan).size() == 1);
  CHECK(routines_of(*plan).contains("test/pages"));
  check_right(net, plan);
}

TEST_CASE("mended path: a device that is not here leaves its layers to the host") {
  const SplitNet net = attention_net();
  RoutinePath path = whole_path(net);
  for (auto& [id, choice] : path.layers) {
    if (!choice.routine.empty()) choice.routine = "other/pages";
    for (std::vector<Format>* side : {&choice.formats.inputs, &choice.formats.outputs})
      for (Format& format : *side)
        if (!format.device.is_host()) format.device = *DeviceId::parse("other");
  }
  ReplacedChoices replaced;
  const auto plan = mended(net, path, replaced);
  CHECK_FALSE(routines_of(*plan).contains("test/pages"));
  CHECK(adapts_of(*plan) == 0);
  check_right(net, plan);
}

TEST_CASE("plan: where a device's routine gives no kernel, another one of it does") {
  const SplitNet net = attention_net(control_with({"/pages", "/spare"}));
  const RoutinePath path = whole_path(net);
  net.control->gives_no_kernel = [](const std::string& routine, const Problem& problem) {
    return routine == "test/pages" && is_matmul(problem);
  };
  const auto plan = net.plan(path);
  CHECK(routines_of(*plan).at("test/spare") == 2);
  check_right(net, plan);
  net.control->gives_no_kernel = [](const std::string&, const Problem& problem) {
    return is_matmul(problem);
  };
  const auto failed = build_plan(net.runtime, net.graph, net.shapes, path, nullptr);
  CHECK(failed.status().code() == StatusCode::device_failed);
  CHECK(failed.status().message().find("it gives no kernel") != std::string::npos);
}

TEST_CASE("float32 schemas: those of the devices that are named, then the host's") {
  const auto of = [](std::vector<std::string> schemas) { return float32_schemas(schemas); };
  CHECK(of({"cpu:float16"}) == std::vector<std::string>{"cpu:float32"});
  CHECK(of({"cuda:float16", "cpu:qint8", "cuda"}) ==
        std::vector<std::string>{"cuda:float32", "cpu:float32"});
}

TEST_CASE("candidates: a layer without float16 routines on the device is in float32 there") {
  const SplitNet net = attention_net(control_with({"/pages", ":float16/pages"}));
  net.control->refuses = [](const std::string& routine, const Problem& problem) {
    return routine == "test:float16/pages" && !is_matmul(problem);
  };
  SearchSpace space;
  space.graph = net.graph;
  space.layers =
      list_candidates(net.runtime->routine_context(), net.problems(), {.schemas = {"test:float16"}})
          .value();
  const auto fits = only_kind({kTest, DataType::float16});
  for (LayerCandidates& layer : space.layers)
    for (Candidate& candidate : layer.candidates) {
      CAPTURE(layer.layer.layer->name, candidate.str());
      candidate.isolated_us = 1;
      if (candidate.routine == nullptr) continue;
      const bool is_half = candidate.routine->descriptor().type == DataType::float16;
      CHECK(candidate.routine->descriptor().device == kTest);
      CHECK(is_half == is_matmul(layer.layer.problem));
      CHECK(layer.fallback == !is_half);
      CHECK(fits(layer, candidate));
    }
  // All schemas allowed: for one kind alone the host does not come into it either.
  space.layers = list_candidates(net.runtime->routine_context(), net.problems(),
                                 {.schemas = {"cpu:float32", "test"}})
                     .value();
  for (LayerCandidates& layer : space.layers) {
    for (Candidate& candidate : layer.candidates) candidate.isolated_us = 1;
    for (const Candidate& candidate : layer.candidates)
      if (candidate.routine != nullptr && candidate.routine->descriptor().device.is_host())
        CHECK_FALSE(fits(layer, candidate));
  }
}
