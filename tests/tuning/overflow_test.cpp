// Models that pass the range of float16 on synthetic inputs: what they compute there is not held
// against the tuned net.
#include "verify/overflow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "passes/pass.h"
#include "small_net.h"
#include "support/temporary_folder.h"
#include "verify/synthetic_inputs.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

std::shared_ptr<Runtime> one_thread() {
  NetOptions options;
  options.threads = 1;
  return make_runtime(options).value();
}

// A net of x [1 x 3 x 8 x 8] in float16, as an import leaves it.
struct HalfNet {
  SmallNetBuilder b;
  TensorId x;

  HalfNet() : x(b.input("x", DynamicShape(Shape{1, 3, 8, 8}))) {
    b.graph.tensor(x).type = DataType::float16;
  }
  TensorId number(const std::string& name, double value) {
    const Tensor scalar = Tensor::create(DataType::float16, Shape{1}).value();
    store(view_of(scalar), 0, value);
    return b.graph.add_constant(name, scalar);
  }
  // y · sigmoid(y): infinity times zero where y is −∞.
  std::shared_ptr<const Graph> gated(TensorId y) {
    b.graph.outputs = {b.mul("gated", y, b.unary("sigmoid", "gate", y))};
    Graph graph = *finished(std::move(b.graph));
    REQUIRE(run_passes(graph, one_thread()->registry()).ok());
    return std::make_shared<const Graph>(std::move(graph));
  }
};

// Products of images in bytes with themselves are beyond float16.
std::shared_ptr<const Graph> squares() {
  HalfNet net;
  const TensorId product = net.b.layer("matmul", "product", {net.x, net.x});
  return net.gated(net.b.mul("scaled", product, net.number("factor", -0.14)));
}

// Beyond float16 on every input.
std::shared_ptr<const Graph> hopeless() {
  HalfNet net;
  const TensorId far = net.b.add("far", net.x, net.number("far.by", -60000));
  return net.gated(net.b.add("farther", far, net.number("farther.by", -60000)));
}

// NaN of negative numbers, as it is meant.
std::shared_ptr<const Graph> logarithm() {
  HalfNet net;
  return net.gated(net.b.unary("log", "log", net.x));
}

SyntheticInputs made_for(const std::shared_ptr<const Graph>& graph) {
  return make_synthetic_inputs(one_thread(), graph, std::vector<Shape>{Shape{1, 3, 8, 8}}).value();
}

TuneReport tuned(const std::shared_ptr<const Graph>& graph) {
  const TemporaryFolder folder;
  TuneOptions options;
  options.cache.folder = folder.path().string();
  Net net = NetAccess::from_graph(*graph, {.threads = 1}).value();
  const Result<TuneReport> report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(net.tuned_paths().size() == 1);
  return *report;
}

bool is_finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(load(view_of(tensor), i))) return false;
  return true;
}

}  // namespace

TEST_CASE("overflow: synthetic inputs are made smaller until the model holds what it computes") {
  const auto graph = squares();
  const SyntheticInputs made = made_for(graph);
  CHECK_FALSE(made.overflows);
  REQUIRE(made.sets.size() == 3);
  CHECK((made.usable & 0b111u) != 0b111u);  // not all of them as they are
  const auto plan = build_plan(one_thread(), graph, std::vector<Shape>{Shape{1, 3, 8, 8}}).value();
  Session session = Session::create(plan).value();
  for (const std::vector<Tensor>& set : made.sets) {
    std::vector<Tensor> outputs(1);
    REQUIRE(session.run(set, outputs).ok());
    CHECK(is_finite(outputs[0]));
  }
  const SyntheticInputs again =
      make_synthetic_inputs(one_thread(), graph, std::vector<Shape>{Shape{1, 3, 8, 8}}, made.usable)
          .value();
  REQUIRE(again.sets.size() == made.sets.size());
  for (std::size_t s = 0; s < made.sets.size(); ++s)
    CHECK(std::memcmp(again.sets[s][0].data(), made.sets[s][0].data(), made.sets[s][0].bytes()) ==
          0);
  CHECK(tuned(graph).verification_inputs == 3);
}

TEST_CASE("overflow: a model that overflows on all synthetic inputs is tuned all the same") {
  const auto graph = hopeless();
  CHECK(made_for(graph).overflows);
  const TuneReport report = tuned(graph);
  const bool is_reported = std::ranges::any_of(report.warnings, [](const std::string& warning) {
    return warning.find("not verified") != std::string::npos;
  });
  CHECK(is_reported == (report.verification_inputs == 0));  // kernels may agree
}

TEST_CASE("overflow: NaN that the model means is verified") {
  const auto graph = logarithm();
  const SyntheticInputs made = made_for(graph);
  CHECK_FALSE(made.overflows);
  CHECK(made.usable == 0b111u);
  CHECK(tuned(graph).verification_inputs == 3);
}
