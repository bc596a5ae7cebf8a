#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
const Dim kBatch("batch");
const Dim kUnknown;

Params axis(std::int64_t value) {
  return params({{"axis", value}});
}

TEST_CASE("concat puts inputs behind each other", "[movement]") {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 1}, {5, 6});
  const auto y = run({"concat", axis(1), {a, b, floats({2, 0}, {})}});
  CHECK(y[0].shape() == Shape{2, 3});
  CHECK(values_of(y[0]) == std::vector<double>{1, 2, 5, 3, 4, 6});
  const auto z = run({"concat", axis(-2), {a, floats({1, 2}, {7, 8})}});
  CHECK(values_of(z[0]) == std::vector<double>{1, 2, 3, 4, 7, 8});
  const auto bytes =
      run({"concat", axis(0), {tensor<bool>({1}, {true}), tensor<bool>({1}, {false})}});
  CHECK(values_of(bytes[0]) == std::vector<double>{1, 0});
}

TEST_CASE("concat of long runs is partitioned among tasks", "[movement]") {
  const Tensor a = counting(DataType::int64, {3, 50000}), b = counting(DataType::int64, {3, 30000});
  const auto y = run({"concat", axis(1), {a, b}});
  const auto values = values_of(y[0]);
  bool right = values.size() == 240000;
  for (std::size_t i = 0; right && i < values.size(); ++i) {
    const std::size_t row = i / 80000, column = i % 80000;
    right = values[i] == static_cast<double>(column < 50000 ? row * 50000 + column
                                                            : row * 30000 + column - 50000);
  }
  CHECK(right);
}

TEST_CASE("concat infers shapes", "[movement]") {
  const auto inferred = [](std::int64_t along, std::vector<DynamicShape> shapes) {
    std::vector<InferContext::Input> inputs;
    for (DynamicShape& shape : shapes) inputs.push_back(unknown(kFloat, std::move(shape)));
    return infer("concat", axis(along), std::move(inputs)).str();
  };
  CHECK(inferred(1, {{kBatch, 3}, {kUnknown, 4}}) == "float32 batchx7");
  CHECK(inferred(0, {{kBatch, 3}, {0, 3}}) == "float32 batchx3");
  CHECK(inferred(0, {{kBatch, kUnknown}, {2, 3}}) == "float32 ?x3");
  CHECK(inferred(1, {DynamicShape(), {2, 3}}) == "float32 2x?");
  CHECK(inferred(1, {DynamicShape()}) == "float32 unknown");
  CHECK(inferred(1, {{2, 3}, {3, 3}}).find("input 1") != std::string::npos);
  CHECK(inferred(1, {{2, 3}, {2}}).find("dimensions") != std::string::npos);
  CHECK(inferred(2, {{2, 3}}).find("axis 2") != std::string::npos);
  CHECK(inferred(0, {{INT64_MAX}, {1}}).find("overflows") != std::string::npos);
  CHECK_FALSE(infer("concat", {}, {unknown(kFloat, {2})}).status.ok());
  CHECK_FALSE(
      infer("concat", axis(0), {unknown(kFloat, {2}), unknown(DataType::int8, {2})}).status.ok());
}

TEST_CASE("split cuts an axis", "[movement]") {
  const Tensor x = counting(kFloat, {2, 5});
  const auto y = run({"split", axis(1), {x, longs({2, 0, 3})}, 3});
  CHECK(values_of(y[0]) == std::vector<double>{0, 1, 5, 6});
  CHECK(y[1].shape() == Shape{2, 0});
  CHECK(values_of(y[2]) == std::vector<double>{2, 3, 4, 7, 8, 9});
  const auto z = run({"split", axis(-1), {x}, 2});
  CHECK(values_of(z[0]) == std::vector<double>{0, 1, 2, 5, 6, 7});
  CHECK(values_of(z[1]) == std::vector<double>{3, 4, 8, 9});
}

TEST_CASE("split infers shapes", "[movement]") {
  const auto equal = [](DynamicShape x, std::size_t outputs) {
    return infer("split", axis(1), {unknown(kFloat, std::move(x))}, outputs);
  };
  CHECK(equal({kBatch, 6}, 3).str() == "float32 batchx2");
  CHECK(equal({kBatch, 7}, 3).outputs[2].shape.str() == "batchx1");
  CHECK(equal({2, kBatch}, 2).str() == "float32 2x?");
  CHECK(equal({2, kBatch}, 1).str() == "float32 2xbatch");
  CHECK(equal({2, 5}, 4).str().find("cannot be cut") != std::string::npos);
  const auto sized = [](DynamicShape x, std::initializer_list<std::int64_t> sizes) {
    return infer("split", axis(0), {unknown(kFloat, std::move(x)), known(longs(sizes))}, 2).str();
  };
  CHECK(sized({kUnknown, 3}, {1, 2}) == "float32 1x3");
  CHECK(sized({4}, {1, 2}).find("add up to 3") != std::string::npos);
  CHECK(sized({4}, {5, -1}).find("-1") != std::string::npos);
  CHECK(sized({4}, {INT64_MAX, 5}).find("not a possible size") != std::string::npos);
  CHECK(sized({4}, {4}).find("1 entries") != std::string::npos);
  CHECK(sized({}, {1, 2}) == "float32 unknown");
  const auto counted = [](std::int64_t count) {
    return infer("split", params({{"num_outputs", count}}), {unknown(kFloat, {6})}, 2).str();
  };
  CHECK(counted(3) == "float32 2");
  CHECK(counted(1).find("num_outputs") != std::string::npos);
  CHECK(counted(INT64_MAX).find("num_outputs") != std::string::npos);
}

}  // namespace
}  // namespace softneuro::test
