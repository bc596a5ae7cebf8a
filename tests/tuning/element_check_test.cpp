// Candidates of element-wise layers are judged element by element, in the tails of their range.
#include "verify/element_check.h"

#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "net/make_runtime.h"
#include "profiler/select/unit_profile.h"
#include "small_net.h"
#include "support/planted_unary.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// A layer of the function, or a chain that ends with the next function.
NetProblems problems_with(const std::shared_ptr<Runtime>& runtime, UnaryOp op,
                          std::vector<PostOp> post_ops = {}) {
  SmallNetBuilder b;
  const Shape shape{1, 16, 24, 24};
  const TensorId x = b.input("x", DynamicShape(shape));
  Params params;
  params.set("op", std::string(to_string(op)));
  params.set("alpha", 0.5);
  params.set("beta", 1.0);
  b.graph.outputs = {b.layer("unary", "function", {x}, params)};
  b.graph.layers()[0].post_ops = std::move(post_ops);
  return infer_problems(runtime, test::finished(std::move(b.graph)), {&shape, 1}).value();
}

// Candidates that the profiler calls wrong; its warning, if any.
std::vector<std::string> wrong_candidates(const std::shared_ptr<Runtime>& runtime,
                                          const NetProblems& problems, std::string& warning) {
  warning.clear();
  const std::vector<std::string> schemas = {"cpu:float32", "cpu:float16", "cpu:bfloat16"};
  auto layers = list_candidates(runtime->routine_context(), problems, {schemas}).value();
  ProfileCache cache;
  const TuneBudget budget;
  PoolBarrier barrier(runtime->pool());
  UnitProfiler profiler(*runtime, cache, budget, barrier, false);
  profiler.warn = [&](LogLevel, const std::string& text) { warning = text; };
  REQUIRE(profiler.profile(problems.layers[0].problem, layers[0].candidates).ok());
  std::vector<std::string> wrong;
  for (const Candidate& candidate : layers[0].candidates)
    if (candidate.wrong) wrong.push_back(candidate.str());
  return wrong;
}

std::shared_ptr<Runtime> one_thread() {
  NetOptions options;
  options.threads = 1;
  return make_runtime(options).value();
}

}  // namespace

TEST_CASE("tune: an element-wise routine that is wrong in its tail alone is dropped") {
  for (const PlantedFault& fault : kPlantedFaults)
    for (const bool is_faulty : {false, true}) {
      const auto runtime = one_thread();
      REQUIRE(const_cast<Registry&>(runtime->registry())
                  .add(std::make_unique<PlantedUnary>(fault, is_faulty))
                  .ok());
      std::string warning;
      const auto wrong = wrong_candidates(runtime, problems_with(runtime, fault.op), warning);
      INFO(fault.name << ": " << warning);
      CHECK(wrong ==
            (is_faulty ? std::vector<std::string>{fault.name} : std::vector<std::string>()));
      CHECK((warning.find("is exact") != std::string::npos) == is_faulty);
    }
}

TEST_CASE("tune: no candidate of an element-wise layer is dropped for its rounding") {
  const auto runtime = one_thread();
  for (int i = 0; i < static_cast<int>(UnaryOp::logical_not); ++i) {
    const auto op = static_cast<UnaryOp>(i);
    PostOp linear, next;
    linear.unary = UnaryOp::linear;
    linear.alpha = 0.7f;
    linear.beta = -0.3f;
    next.unary = op;
    next.alpha = 0.5f;
    next.beta = 1;
    std::string warning;
    for (const auto& post_ops : {std::vector<PostOp>{}, {linear}, {linear, next}}) {
      wrong_candidates(runtime, problems_with(runtime, op, post_ops), warning);
      INFO(to_string(op) << " with " << post_ops.size() << " post-ops: " << warning);
      CHECK(warning.find("is exact") == std::string::npos);  // by their RMS, 16 bits may be
    }
  }
}
