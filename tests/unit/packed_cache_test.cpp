// Packed weights where one runtime plans several graphs, as when a net is compared with its model.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "softneuro/session.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// A convolution of layer number `id` whose weights are all `weight`.
std::shared_ptr<const Graph> conv_of(std::int64_t channels, double weight) {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 8, 8});
  const std::vector<double> weights(static_cast<std::size_t>(channels * 3), weight);
  const TensorId w = b.reals(Shape{channels, 3, 1, 1}, weights);
  return std::make_shared<const Graph>(b.finish({b.layer("conv2", {x, w})}));
}

// What the first output is, everywhere.
float output_of(const std::shared_ptr<Runtime>& runtime,
                const std::shared_ptr<const Graph>& graph) {
  const Shape shape{1, 3, 8, 8};
  Session session = Session::create(build_plan(runtime, graph, {&shape, 1}).value()).value();
  Tensor ones = Tensor::create(DataType::float32, shape).value();
  std::ranges::fill(ones.mutable_values<float>(), 1.0f);
  std::vector<Tensor> outputs(1);
  REQUIRE(session.run({&ones, 1}, outputs).message() == "");
  const auto values = outputs[0].values<float>();
  REQUIRE(std::ranges::all_of(values, [&](float value) { return value == values[0]; }));
  return values[0];
}

}  // namespace

TEST_CASE("packed weights: layers of one number in two graphs keep their own weights") {
  NetOptions options;
  options.threads = 1;
  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  const auto one = conv_of(16, 1), two = conv_of(16, 2);
  REQUIRE(one->layers()[0].id == two->layers()[0].id);
  CHECK(output_of(runtime, one) == 3);
  const std::size_t bytes = runtime->packed_weights().bytes().host;
  REQUIRE(bytes > 0);
  CHECK(output_of(runtime, two) == 6);
  CHECK(runtime->packed_weights().bytes().host == 2 * bytes);
  // A copy of a graph has the same constants.
  CHECK(output_of(runtime, std::make_shared<const Graph>(*one)) == 3);
  CHECK(runtime->packed_weights().bytes().host == 2 * bytes);
}

TEST_CASE("packed weights: those of a file serve its own graph alone") {
  NetOptions options;
  options.threads = 1;
  const auto one = conv_of(16, 1), two = conv_of(16, 2);
  // The packing of `two`, as if a file had brought it along for `one`.
  const std::shared_ptr<Runtime> source = make_runtime(options).value();
  const Shape shape{1, 3, 8, 8};
  const auto plan = build_plan(source, two, {&shape, 1}).value();
  const PlanImpl& impl = impl_of(*plan);
  const Step& step = impl.steps[0];
  const ImplementationPtr made =
      source->routine_context()
          .implement(*step.routine, problem_of(impl, *step.layer).value())
          .value();
  const Tensor bytes = source->packed_weights().get(*step.layer, *made, step.params, true)->bytes;
  REQUIRE(!bytes.empty());
  const std::string key =
      PackedCache::key_of(*step.layer, *made, made->packing(step.params).value());

  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  runtime->packed_weights().preload({{key, bytes}}, *one);
  CHECK(output_of(runtime, one) == 6);  // taken without a look at the weights
  CHECK(output_of(runtime, conv_of(16, 3)) == 9);
}
