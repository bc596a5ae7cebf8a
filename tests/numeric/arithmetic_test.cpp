// Routines are held to the arithmetic that they name.
#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "numeric/check_routine.h"
#include "support/rounding_matmul.h"

namespace softneuro {
Status register_routine_matmul_cpu_naive(Registry& registry);
}

namespace softneuro::test {
namespace {

void add_products(ProblemSet& set) {
  for (const std::int64_t depth : {1, 7, 64, 300}) {
    set.add("matmul").input({5, depth}).input({depth, 33});
    set.add("matmul").input({5, depth}).constant({depth, 33}, normal(0.1));
    set.add("matmul").input({2, 5, depth}, integers()).input({depth, 9}, integers()).exact();
  }
}

}  // namespace

TEST_CASE("numeric: a routine that rounds to TF32 and says so is right", "[numeric]") {
  Registry registry(builtin_layer_types());
  REQUIRE(register_routine_matmul_cpu_naive(registry).ok());
  REQUIRE(registry.add(std::make_unique<RoundingMatmul>("cpu:tf32/rounding")).ok());
  check_problems(registry, add_products);
}

TEST_CASE("numeric: a routine that rounds to TF32 and claims float32 is caught", "[numeric]") {
  const Routine& naive = *builtin_registry().find("matmul", "cpu/naive");
  const RoundingMatmul rounding("cpu/rounding");
  ProblemSet set;
  for (const std::int64_t depth : {7, 64, 300})
    set.add("matmul").input({5, depth}).input({depth, 33});
  for (const Case& description : set.cases()) {
    const PreparedCase prepared = prepare(builtin_registry(), description, test_seed()).value();
    INFO(prepared.problem.str() << ", SOFTNEURO_TEST_SEED=" << test_seed());
    const RunResult exact = run_routine(naive, prepared, test_pool(1), {});
    const RunResult rounded = run_routine(rounding, prepared, test_pool(1), {});
    REQUIRE(exact.status.ok());
    REQUIRE(rounded.status.ok());
    CHECK(difference(exact.outputs[0], rounded.outputs[0], default_tolerance(DataType::float32)) !=
          "");
  }
}

}  // namespace softneuro::test
