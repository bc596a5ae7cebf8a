#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
constexpr DataType kLong = DataType::int64;
const Dim kBatch("batch");
using V = std::vector<double>;

Params axis(std::int64_t value) {
  return params({{"axis", value}});
}

TEST_CASE("gather picks slices", "[movement]") {
  const Tensor x = counting(kFloat, {3, 2});
  CHECK(values_of(run({"gather", axis(0), {x, longs({2, 0, -1})}})[0]) == V{4, 5, 0, 1, 4, 5});
  CHECK(values_of(run({"gather", axis(1), {x, tensor<std::int32_t>({1}, {1})}})[0]) == V{1, 3, 5});
  const auto scalar = run({"gather", axis(0), {longs({5, 6, 7}), longs(Shape{}, {1})}});
  CHECK(scalar[0].shape() == Shape{});
  CHECK(values_of(scalar[0]) == V{6});
  CHECK(run({"gather", axis(1), {x, longs({2, 2}, {0, 1, 1, 0})}})[0].shape() == Shape{3, 2, 2});
  CHECK(run({"gather", axis(0), {x, longs({})}})[0].shape() == Shape{0, 2});
}

TEST_CASE("gather checks indices at run time", "[movement]") {
  const Tensor x = counting(kFloat, {3, 2});
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, INT64_MAX, INT64_MIN}) {
    const Status status = error_of({"gather", axis(0), {x, longs({0, bad})}});
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find("indices[1]") != std::string::npos);
  }
  CHECK_FALSE(error_of({"gather", axis(0), {floats({0, 2}, {}), longs({0})}}).ok());
  CHECK_FALSE(error_of({"gather", axis(2), {x, longs({0})}}).ok());
  CHECK_FALSE(error_of({"gather", axis(0), {x, floats({1}, {0})}}).ok());
}

TEST_CASE("gather infers shapes", "[movement]") {
  CHECK(infer("gather", axis(1), {unknown(kFloat, {kBatch, 8}), unknown(kLong, {Dim("n"), 2})})
            .str() == "float32 batchxnx2");
  CHECK(infer("gather", axis(0), {unknown(kFloat, {8, 4}), unknown(kLong, DynamicShape())}).str() ==
        "float32 unknown");
  CHECK(
      infer("gather", axis(0), {unknown(kFloat, {1, 1, 1, 1, 1}), unknown(kLong, {1, 1, 1, 1, 1})})
          .str()
          .find("at most 8") != std::string::npos);
}

TEST_CASE("gather_elements picks single elements", "[movement]") {
  const Tensor x = counting(kFloat, {2, 3});
  CHECK(values_of(run({"gather_elements", axis(1), {x, longs({2, 2}, {0, -1, 1, 1})}})[0]) ==
        V{0, 2, 4, 4});
  CHECK(values_of(run({"gather_elements", axis(0), {x, longs({1, 2}, {1, 0})}})[0]) == V{3, 1});
  CHECK(error_of({"gather_elements", axis(0), {x, longs({1, 2}, {1, 2})}})
            .message()
            .find("indices[1] is 2") != std::string::npos);
  CHECK_FALSE(error_of({"gather_elements", axis(0), {x, longs({1, 4}, {0, 0, 0, 0})}}).ok());
  CHECK_FALSE(error_of({"gather_elements", axis(0), {x, longs({0})}}).ok());
  CHECK(infer("gather_elements", axis(0), {unknown(kFloat, {4, 4}), unknown(kLong, {kBatch, 2})})
            .str() == "float32 batchx2");
}

TEST_CASE("gather_nd picks slices by tuples", "[movement]") {
  const Tensor x = counting(kFloat, {2, 2, 2});
  const Params one = params({{"batch_dims", std::int64_t{1}}});
  CHECK(values_of(run({"gather_nd", {}, {x, longs({2, 3}, {0, 0, 1, -1, 0, 0})}})[0]) == V{1, 4});
  CHECK(values_of(run({"gather_nd", {}, {x, longs({1, 2}, {0, 1})}})[0]) == V{2, 3});
  CHECK(values_of(run({"gather_nd", one, {x, longs({2, 1}, {1, 0})}})[0]) == V{2, 3, 4, 5});
  CHECK(error_of({"gather_nd", {}, {x, longs({1, 2}, {0, 2})}}).message().find("indices[1] is 2") !=
        std::string::npos);
  CHECK_FALSE(error_of({"gather_nd", {}, {x, longs({1, 4}, {0, 0, 0, 0})}}).ok());
  CHECK_FALSE(error_of({"gather_nd", one, {x, longs({3, 1}, {0, 0, 0})}}).ok());
  CHECK_FALSE(
      error_of({"gather_nd", params({{"batch_dims", std::int64_t{2}}}), {x, longs({2, 1}, {0, 0})}})
          .ok());
  CHECK(infer("gather_nd", {}, {unknown(kFloat, {4, 5, 6}), unknown(kLong, {kBatch, 2})}).str() ==
        "float32 batchx6");
  CHECK(
      infer("gather_nd", {}, {unknown(kFloat, {4, 5, 6}), unknown(kLong, {kBatch, Dim()})}).str() ==
      "float32 unknown");
}

}  // namespace
}  // namespace softneuro::test
