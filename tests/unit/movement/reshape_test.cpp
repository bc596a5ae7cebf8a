// reshape, flatten, squeeze, unsqueeze, identity.
#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
const Dim kBatch("batch");
const Dim kUnknown;

std::string reshaped(DynamicShape x, std::initializer_list<std::int64_t> shape,
                     std::int64_t allow_zero = 0) {
  return infer("reshape", params({{"allow_zero", allow_zero}}),
               {unknown(kFloat, std::move(x)), known(longs(shape))})
      .str();
}

TEST_CASE("reshape keeps the elements in order", "[movement]") {
  const auto y = run({"reshape", {}, {counting(kFloat, {2, 3}), longs({3, 2})}});
  CHECK(y[0].shape() == Shape{3, 2});
  CHECK(values_of(y[0]) == std::vector<double>{0, 1, 2, 3, 4, 5});
  const auto big = run({"reshape", {}, {counting(DataType::int64, {300, 300}), longs({-1})}});
  CHECK(values_of(big[0]).back() == 89999);
}

TEST_CASE("reshape infers what is left", "[movement]") {
  CHECK(reshaped({2, 3, 4}, {-1}) == "float32 24");
  CHECK(reshaped({2, 3, 4}, {4, -1}) == "float32 4x6");
  CHECK(reshaped({2, 3, 4}, {0, -1}) == "float32 2x12");
  CHECK(reshaped({2, 3, 4}, {0, 0, 2, 2}) == "float32 2x3x2x2");
  CHECK(reshaped({}, {1, 1}).find("as many elements") == std::string::npos);
  CHECK(reshaped(DynamicShape(Shape{}), {1, 1}) == "float32 1x1");
  CHECK(reshaped({0, 3}, {0, -1}) == "float32 0x3");
  CHECK(reshaped({0, 3}, {-1, 3}) == "float32 0x3");
  CHECK(reshaped({0, 3}, {3, 0}, 1) == "float32 3x0");
}

TEST_CASE("reshape with unknown dimensions", "[movement]") {
  CHECK(reshaped({kBatch, 3, 4}, {0, -1}) == "float32 batchx12");
  CHECK(reshaped({kBatch, 3, 4}, {-1, 12}) == "float32 batchx12");
  CHECK(reshaped({kBatch, 3, 4}, {-1, 6}) == "float32 ?x6");
  CHECK(reshaped({kBatch, kUnknown}, {-1}) == "float32 ?");
  CHECK(reshaped({kBatch, 8}, {2, 4, -1}) == "float32 2x4xbatch");
  CHECK(reshaped({4, kBatch, 6}, {0, 0, 2, -1}) == "float32 4xbatchx2x3");
  CHECK(reshaped(DynamicShape(), {0, 5, -1}) == "float32 ?x5x?");
  CHECK(reshaped({kBatch, 4}, {5, 4}) == "float32 5x4");
  const auto by_rank = [](DynamicShape x, DynamicShape shape) {
    return infer("reshape", {}, {unknown(kFloat, x), unknown(DataType::int64, shape)}).str();
  };
  CHECK(by_rank({2, 3}, {3}) == "float32 ?x?x?");
  CHECK(by_rank({2, 3}, {1}) == "float32 6");
  CHECK(by_rank({2, 3}, {kUnknown}) == "float32 unknown");
}

TEST_CASE("reshape refuses what cannot be", "[movement]") {
  CHECK(reshaped({2, 3}, {4, 2}).find("as many elements") != std::string::npos);
  CHECK(reshaped({2, 3}, {-1, -1}).find("more than once") != std::string::npos);
  CHECK(reshaped({2, 3}, {-2, 3}).find("at least") != std::string::npos);
  CHECK(reshaped({2, 3}, {-1, 4}).find("pieces of 4") != std::string::npos);
  CHECK(reshaped({2, 3}, {6, 1, 0}).find("lacks") != std::string::npos);
  CHECK(reshaped({2, 3}, {0, -1}, 1).find("could be anything") != std::string::npos);
  CHECK(reshaped({2, 3}, {INT64_MAX, 2}).find("overflows") != std::string::npos);
  CHECK(reshaped({1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}).find("at most 8") != std::string::npos);
  CHECK(infer("reshape", {}, {unknown(kFloat, {2}), unknown(kFloat, {1})}).status.code() ==
        StatusCode::invalid_argument);
}

TEST_CASE("flatten makes a matrix", "[movement]") {
  const auto flat = [](DynamicShape x, std::int64_t axis) {
    return infer("flatten", params({{"axis", axis}}), {unknown(kFloat, std::move(x))}).str();
  };
  CHECK(flat({2, 3, 4}, 1) == "float32 2x12");
  CHECK(flat({2, 3, 4}, 0) == "float32 1x24");
  CHECK(flat({2, 3, 4}, 3) == "float32 24x1");
  CHECK(flat({2, 3, 4}, -1) == "float32 6x4");
  CHECK(flat({kBatch, 3, 4}, 1) == "float32 batchx12");
  CHECK(flat({kBatch, 1, 4}, 2) == "float32 batchx4");
  CHECK(flat({kBatch, 2, 4}, 2) == "float32 ?x4");
  CHECK(flat(DynamicShape(), 5) == "float32 ?x?");
  CHECK(flat({2, 3}, 3).find("axis 3") != std::string::npos);
  const auto y = run({"flatten", {}, {counting(DataType::float16, {2, 1, 2})}});
  CHECK(y[0].shape() == Shape{2, 2});
  CHECK(values_of(y[0]) == std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("squeeze and unsqueeze", "[movement]") {
  const auto squeezed = [](DynamicShape x, std::initializer_list<std::int64_t> axes) {
    return infer("squeeze", {}, {unknown(kFloat, std::move(x)), known(longs(axes))}).str();
  };
  CHECK(squeezed({1, 3, 1}, {0}) == "float32 3x1");
  CHECK(squeezed({1, 3, 1}, {-1, 0}) == "float32 3");
  CHECK(squeezed({kBatch, 3, kUnknown}, {2}) == "float32 batchx3");
  CHECK(squeezed({1, 3}, {1}).find("not 1") != std::string::npos);
  CHECK(squeezed({1, 3}, {0, -2}).find("more than once") != std::string::npos);
  CHECK(squeezed({1, 3}, {2}).find("axis 2") != std::string::npos);
  CHECK(infer("squeeze", {}, {unknown(kFloat, {1, 3, 1})}).str() == "float32 3");
  CHECK(infer("squeeze", {}, {unknown(kFloat, {1, kBatch})}).str() == "float32 unknown");
  CHECK(infer("squeeze", {}, {unknown(kFloat, {1, kBatch}), unknown(DataType::int64, {1})}).str() ==
        "float32 ?");

  const auto unsqueezed = [](DynamicShape x, std::initializer_list<std::int64_t> axes) {
    return infer("unsqueeze", {}, {unknown(kFloat, std::move(x)), known(longs(axes))}).str();
  };
  CHECK(unsqueezed({kBatch, 3}, {0}) == "float32 1xbatchx3");
  CHECK(unsqueezed({2, 3}, {3, 0}) == "float32 1x2x3x1");
  CHECK(unsqueezed({2, 3}, {-1}) == "float32 2x3x1");
  CHECK(unsqueezed({2, 3}, {1, 1}).find("more than once") != std::string::npos);
  CHECK(unsqueezed({2, 3}, {3}).find("axis 3") != std::string::npos);
  CHECK(unsqueezed({1, 1, 1, 1, 1, 1, 1, 1}, {0}).find("at most 8") != std::string::npos);

  const auto y = run({"squeeze", {}, {counting(kFloat, {1, 3, 1})}});
  CHECK(y[0].shape() == Shape{3});
  CHECK(run({"unsqueeze", {}, {floats({}, {7}), longs({0})}})[0].shape() == Shape{1});
  CHECK(run({"identity", {}, {counting(DataType::int8, {2, 2})}})[0].shape() == Shape{2, 2});
}

}  // namespace
}  // namespace softneuro::test
