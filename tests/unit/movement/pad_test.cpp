#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
using List = std::initializer_list<std::int64_t>;
using V = std::vector<double>;

Params mode(std::string name) {
  return params({{"mode", std::move(name)}});
}

V padded(const std::string& how, const Tensor& x, List pads) {
  return values_of(run({"pad", mode(how), {x, longs(pads)}})[0]);
}

TEST_CASE("pad with a value", "[movement]") {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  CHECK(padded("constant", x, {0, 1, 1, 0}) == V{0, 1, 2, 0, 3, 4, 0, 0, 0});
  CHECK(values_of(run({"pad", {}, {x, longs({1, 0}), floats({}, {9}), longs({-1})}})[0]) ==
        V{9, 1, 2, 9, 3, 4});
  CHECK(padded("constant", x, {-1, 0, 0, 1}) == V{3, 4, 0});
  CHECK(padded("constant", floats({0}, {}), {2, 1}) == V{0, 0, 0});
  CHECK(values_of(run({"pad", {}, {counting(DataType::uint8, {2}), longs({1, 1})}})[0]) ==
        V{0, 0, 1, 0});
}

TEST_CASE("pad that continues the axis", "[movement]") {
  const Tensor x = floats({3}, {1, 2, 3});
  CHECK(padded("edge", x, {2, 1}) == V{1, 1, 1, 2, 3, 3});
  CHECK(padded("reflect", x, {2, 2}) == V{3, 2, 1, 2, 3, 2, 1});
  CHECK(padded("reflect", x, {5, 0}) == V{2, 1, 2, 3, 2, 1, 2, 3});
  CHECK(padded("wrap", x, {2, 4}) == V{2, 3, 1, 2, 3, 1, 2, 3, 1});
  CHECK(padded("reflect", floats({1}, {7}), {1, 2}) == V{7, 7, 7, 7});
  // Cut first, then continued.
  CHECK(padded("edge", x, {-1, 2}) == V{2, 3, 3, 3});
  CHECK(padded("wrap", x, {2, -1}) == V{1, 2, 1, 2});
  const Tensor matrix = floats({2, 2}, {1, 2, 3, 4});
  CHECK(padded("reflect", matrix, {1, 1, 0, 0}) == V{4, 3, 4, 2, 1, 2, 4, 3, 4});
  CHECK(padded("edge", matrix, {0, 1, 1, 0}) == V{1, 1, 2, 3, 3, 4, 3, 3, 4});
}

TEST_CASE("pad infers shapes", "[movement]") {
  const auto inferred = [](const std::string& how, DynamicShape x, List pads) {
    return infer("pad", mode(how), {unknown(kFloat, std::move(x)), known(longs(pads))}).str();
  };
  const Dim batch("batch");
  CHECK(inferred("constant", {batch, 3}, {0, 1, 0, 1}) == "float32 batchx5");
  CHECK(inferred("constant", {batch, 3}, {1, 0, 0, 0}) == "float32 ?x3");
  CHECK(inferred("constant", {2}, {1, 1, 1}).find("3 entries") != std::string::npos);
  CHECK(inferred("constant", {2}, {-2, -1}).find("cut more") != std::string::npos);
  CHECK(inferred("constant", {2}, {INT64_MAX, 1}).find("possible size") != std::string::npos);
  CHECK(inferred("edge", {0}, {1, 1}).find("empty") != std::string::npos);
  CHECK(inferred("mirror", {2}, {1, 1}).find("must be one of") != std::string::npos);
  CHECK(infer("pad", {}, {unknown(kFloat, {2, 3}), unknown(DataType::int64, {4})}).str() ==
        "float32 ?x?");
  CHECK_FALSE(infer("pad", {},
                    {unknown(kFloat, {2}), known(longs({1, 1})), unknown(DataType::int8, Shape{})})
                  .status.ok());
}

}  // namespace
}  // namespace softneuro::test
