#include "numeric/whole_range.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "cpu/simd/span_ops.h"
#include "numeric/check_routine.h"
#include "routines/builtin.h"
#include "support/planted_unary.h"

namespace softneuro::test {
namespace {

// With SOFTNEURO_TEST_TABLE in the environment: the worst of every function and routine.
void print(const std::vector<RangeResult>& results) {
  if (std::getenv("SOFTNEURO_TEST_TABLE") == nullptr) return;
  for (const RangeResult& result : results)
    std::printf("%-28s %-44s %10.3g of what is allowed, %10.3g ulp: %.9g for %.9g\n",
                result.function.c_str(), result.routine.c_str(), result.report.share,
                result.report.ulps, result.report.actual, result.report.exact);
}

void check(const std::vector<RangeResult>& results) {
  print(results);
  for (const RangeResult& result : results) {
    INFO(result.function << ", " << result.routine);
    CHECK(result.report.fault() == "");
  }
}

}  // namespace

TEST_CASE("numeric: functions of one number over the whole range of each type", "[numeric]") {
  std::size_t checked = 0;
  for (int i = 0; i < static_cast<int>(UnaryOp::logical_not); ++i) {
    const auto results = run_unary(all_routines(), static_cast<UnaryOp>(i));
    check(results);
    CHECK_FALSE(results.empty());
    checked += results.size();
  }
  CHECK(checked > 300);
}

TEST_CASE("numeric: functions of two numbers over the whole range of each type", "[numeric]") {
  for (int i = 0; i <= static_cast<int>(BinaryOp::prelu); ++i) {
    const auto results = run_binary(all_routines(), static_cast<BinaryOp>(i));
    check(results);
    CHECK_FALSE(results.empty());
  }
}

TEST_CASE("numeric: fused functions over the whole range of each type", "[numeric][slow]") {
  for (int i = 0; i < kUnaryOpCount; ++i) {
    const auto op = static_cast<UnaryOp>(i);
    if (!is_span_op(op)) continue;
    check(run_post_op(all_routines(), op));
  }
}

TEST_CASE("numeric: a function that is wrong in its tail alone is found", "[numeric]") {
  for (const PlantedFault& fault : kPlantedFaults)
    for (const bool is_faulty : {false, true}) {
      Registry registry = make_builtin_registry().value();
      REQUIRE(registry.add(std::make_unique<PlantedUnary>(fault, is_faulty)).ok());
      int runs = 0;
      for (const RangeResult& result : run_unary(registry, fault.op)) {
        if (result.routine.rfind(fault.name, 0) != 0) continue;
        INFO(result.routine << ": " << result.report.fault());
        CHECK(result.report.is_wrong() == is_faulty);
        ++runs;
      }
      CHECK(runs == 1);
    }
}

}  // namespace softneuro::test
