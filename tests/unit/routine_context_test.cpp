// What a context says of routines and problems before any kernel is made.
#include "core/routine/routine_context.h"

#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/registry.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using test::builtin_registry;

namespace {

// A 3x3 convolution with a relu behind it, in channels-last.
Problem convolution() {
  Layer layer;
  layer.type = builtin_layer_types().find("conv2");
  layer.name = "tested";
  layer.layer_inputs = 2;
  layer.outputs = {0};
  layer.post_ops = {PostOp()};
  TensorSpec x, w;
  x.type = w.type = DataType::float32;
  x.shape = Shape{1, 16, 12, 12};
  x.layout = Layout::channels_last;
  w.shape = Shape{32, 16, 3, 3};
  w.constant = true;
  w.value = Tensor::create(DataType::float32, w.shape).value();
  Problem problem = make_problem(layer, std::vector<TensorSpec>{x, w}).value();
  problem.outputs[0].layout = Layout::channels_last;
  return problem;
}

const Routine& routine(const char* descriptor) {
  const Routine* found = builtin_registry().find("conv2", descriptor);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("routine context: at least one thread works on a problem") {
  CHECK(RoutineContext(builtin_registry(), 0).threads() == 1);
  CHECK(RoutineContext(builtin_registry(), -3).threads() == 1);
  CHECK(RoutineContext(builtin_registry(), 4).inside_childnet().threads() == 4);
  CHECK(RoutineContext(builtin_registry()).inside_childnet().childnet_depth() == 1);
}

TEST_CASE("routine context: parameters that a routine does not have are refused by name") {
  const RoutineContext context(builtin_registry());
  const Routine& wg = routine("cpu:float32:nhwc/wg");
  RoutineParams params = context.implement(wg, convolution()).value()->default_params();
  CHECK(context.implement(wg, convolution(), params).ok());
  params.set("tile_size", std::int64_t{5});
  const auto refused = context.implement(wg, convolution(), params);
  CHECK(refused.status().code() == StatusCode::unsupported);
  CHECK(refused.status().message().find("tile_size=5") != std::string::npos);
}

TEST_CASE(
    "routine context: post-ops are of the routine's problem if it fuses them, else behind it") {
  const RoutineContext context(builtin_registry());
  const ImplementationPtr fused =
      context.implement(routine("cpu:float32:nhwc/wg"), convolution()).value();
  CHECK(fused->problem().post_ops.size() == 1);
  CHECK(&fused->problem() == &fused->whole_problem());

  Problem plain = convolution();
  for (TensorSpec* spec : {&plain.inputs[0], &plain.outputs[0]}) spec->layout = Layout::plain;
  const ImplementationPtr behind = context.implement(routine("cpu/naive"), plain).value();
  CHECK(behind->problem().post_ops.empty());
  CHECK(behind->whole_problem().post_ops.size() == 1);
  CHECK(behind->create({}).ok());
}

TEST_CASE(
    "routine context: a default choice is the highest rank that applies, within the schemas") {
  const RoutineContext context(builtin_registry());
  const auto chosen = context.default_choice(convolution());
  CHECK((*chosen)->routine().descriptor().str() == "cpu:float32:nhwc/wg");
  const std::string other = "cpu:float16";
  const auto fallback = context.default_choice(convolution(), {&other, 1});
  CHECK((*fallback)->routine().descriptor().type == DataType::float32);
}
