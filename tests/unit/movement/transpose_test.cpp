#include <algorithm>
#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;

Params perm(std::vector<std::int64_t> order) {
  return params({{"perm", std::move(order)}});
}

TEST_CASE("transpose moves axes", "[movement]") {
  const auto y = run({"transpose", {}, {counting(kFloat, {2, 3})}});
  CHECK(y[0].shape() == Shape{3, 2});
  CHECK(values_of(y[0]) == std::vector<double>{0, 3, 1, 4, 2, 5});
  const auto z = run({"transpose", perm({1, 0, 2}), {counting(DataType::int16, {2, 3, 2})}});
  CHECK(values_of(z[0]) == std::vector<double>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
  const auto w = run({"transpose", perm({0, 2, 1}), {counting(DataType::uint8, {2, 2, 3})}});
  CHECK(values_of(w[0]) == std::vector<double>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  CHECK(run({"transpose", {}, {floats({}, {5})}})[0].shape() == Shape{});
  CHECK(run({"transpose", {}, {floats({0, 3}, {})}})[0].shape() == Shape{3, 0});
}

TEST_CASE("transpose of every order agrees with index arithmetic", "[movement]") {
  std::vector<std::int64_t> order = {0, 1, 2, 3};
  const Shape x{3, 17, 5, 19};
  do {
    const auto y = run({"transpose", perm(order), {counting(DataType::int32, x)}});
    const auto values = values_of(y[0]);
    const Shape& s = y[0].shape();
    std::int64_t at = 0;
    bool right = true;
    Shape index{0, 0, 0, 0};
    for (index[0] = 0; index[0] < s[0]; ++index[0])
      for (index[1] = 0; index[1] < s[1]; ++index[1])
        for (index[2] = 0; index[2] < s[2]; ++index[2])
          for (index[3] = 0; index[3] < s[3]; ++index[3], ++at) {
            Shape from = x;
            for (int i = 0; i < 4; ++i)
              from[static_cast<int>(order[static_cast<std::size_t>(i)])] = index[i];
            const std::int64_t expected =
                ((from[0] * x[1] + from[1]) * x[2] + from[2]) * x[3] + from[3];
            right = right && values[static_cast<std::size_t>(at)] == static_cast<double>(expected);
          }
    CHECK(right);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("transpose infers shapes", "[movement]") {
  const Dim batch("batch");
  const auto inferred = [](DynamicShape x, std::vector<std::int64_t> order) {
    return infer("transpose", perm(std::move(order)), {unknown(kFloat, std::move(x))}).str();
  };
  CHECK(inferred({batch, 3, 8}, {0, 2, 1}) == "float32 batchx8x3");
  CHECK(inferred({batch, 3}, {}) == "float32 3xbatch");
  CHECK(inferred(DynamicShape(), {1, 0}) == "float32 ?x?");
  CHECK(inferred(DynamicShape(), {}) == "float32 unknown");
  CHECK(inferred({2, 3}, {0, 0}).find("more than once") != std::string::npos);
  CHECK(inferred({2, 3}, {0}).find("perm has 1") != std::string::npos);
  CHECK(inferred({2, 3}, {0, 2}).find("axis 2") != std::string::npos);
}

}  // namespace
}  // namespace softneuro::test
