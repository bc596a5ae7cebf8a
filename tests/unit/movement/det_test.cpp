#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

TEST_CASE("det", "[movement]") {
  CHECK(values_of(run({"det", {}, {floats({2, 2}, {0, 1, 2, 3})}})[0])[0] == Approx(-2));
  const auto batch = run({"det", {}, {floats({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 1, 1, 3, 3, 1})}});
  CHECK(batch[0].shape() == Shape{3});
  CHECK(values_of(batch[0])[1] == Approx(-3));
  CHECK(values_of(batch[0])[2] == Approx(-8));
  CHECK(values_of(run({"det", {}, {counting(DataType::float64, {3, 3})}})[0])[0] ==
        Approx(0).margin(1e-12));
  CHECK(values_of(run({"det", {}, {floats({0, 0}, {})}})[0])[0] == 1);
  CHECK(infer("det", {}, {unknown(DataType::float32, {Dim("n"), 3, Dim()})}).str() == "float32 n");
  CHECK_FALSE(infer("det", {}, {unknown(DataType::float32, {2, 3})}).status.ok());
  CHECK_FALSE(infer("det", {}, {unknown(DataType::float32, {2})}).status.ok());
  CHECK_FALSE(infer("det", {}, {unknown(DataType::int32, {2, 2})}).status.ok());
}

}  // namespace
}  // namespace softneuro::test
