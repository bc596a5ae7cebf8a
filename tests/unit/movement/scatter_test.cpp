#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
constexpr DataType kLong = DataType::int64;
using V = std::vector<double>;

Params reduction(std::string name, std::int64_t axis = 0) {
  return params({{"reduction", std::move(name)}, {"axis", axis}});
}
Params reduction_nd(std::string name) {
  return params({{"reduction", std::move(name)}});
}

TEST_CASE("scatter_elements writes single elements", "[movement]") {
  const Tensor x = counting(kFloat, {3, 3});
  const Tensor indices = longs({2, 3}, {1, 0, 2, 0, 2, 1});
  const Tensor updates = floats({2, 3}, {10, 11, 12, 20, 21, 22});
  CHECK(values_of(run({"scatter_elements", {}, {x, indices, updates}})[0]) ==
        V{20, 11, 2, 10, 4, 22, 6, 21, 12});
  CHECK(values_of(run({"scatter_elements",
                       reduction("none", 1),
                       {floats({1, 5}, {1, 2, 3, 4, 5}), longs({1, 2}, {1, -2}),
                        floats({1, 2}, {1.5f, 2.5f})}})[0]) == V{1, 1.5, 3, 2.5, 5});
}

TEST_CASE("scatter_elements combines updates of one place", "[movement]") {
  const auto combined = [](const std::string& how, const Tensor& x, const Tensor& updates) {
    return values_of(run({"scatter_elements", reduction(how), {x, longs({1, 1, 0}), updates}})[0]);
  };
  const Tensor x = floats({2}, {2, 3}), updates = floats({3}, {5, 1, -7});
  CHECK(combined("add", x, updates) == V{-5, 9});
  CHECK(combined("mul", x, updates) == V{-14, 15});
  CHECK(combined("max", x, updates) == V{2, 5});
  CHECK(combined("min", x, updates) == V{-7, 1});
  const Tensor big = tensor<std::uint64_t>({2}, {UINT64_MAX, 1});
  const auto max = run({"scatter_elements",
                        reduction("max"),
                        {big, longs({0, 1}), tensor<std::uint64_t>({2}, {5, UINT64_MAX - 1})}});
  CHECK(max[0].values<std::uint64_t>()[0] == UINT64_MAX);
  CHECK(max[0].values<std::uint64_t>()[1] == UINT64_MAX - 1);
  const auto wrapped =
      run({"scatter_elements", reduction("add"), {longs({INT64_MAX}), longs({0}), longs({1})}});
  CHECK(wrapped[0].values<std::int64_t>()[0] == INT64_MIN);
}

TEST_CASE("scatter_nd writes slices", "[movement]") {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  CHECK(values_of(run({"scatter_nd", {}, {x, longs({2, 1}, {3, -4}), floats({2}, {9, 8})}})[0]) ==
        V{8, 2, 3, 9});
  const Tensor rows = floats({2, 2}, {1, 2, 3, 4});
  CHECK(values_of(run({"scatter_nd",
                       reduction_nd("add"),
                       {rows, longs({2, 1}, {0, 0}), floats({2, 2}, {1, 1, 2, 3})}})[0]) ==
        V{4, 6, 3, 4});
  CHECK(values_of(run({"scatter_nd",
                       reduction_nd("mul"),
                       {rows, longs({1, 2}, {1, 0}), floats({1}, {-2})}})[0]) == V{1, 2, -6, 4});
}

TEST_CASE("scatter checks indices and shapes", "[movement]") {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  CHECK(error_of({"scatter_elements", {}, {x, longs({1, 1}, {2}), floats({1, 1}, {0})}})
            .message()
            .find("indices[0] is 2") != std::string::npos);
  CHECK(error_of({"scatter_nd", {}, {x, longs({1, 2}, {0, -3}), floats({1}, {0})}})
            .message()
            .find("indices[1] is -3") != std::string::npos);
  CHECK_FALSE(
      error_of({"scatter_elements", {}, {x, longs({1, 1}, {0}), floats({1, 2}, {0, 0})}}).ok());
  CHECK_FALSE(
      error_of({"scatter_elements", {}, {x, longs({1, 3}, {0, 0, 0}), floats({1, 3}, {0, 0, 0})}})
          .ok());
  CHECK_FALSE(error_of({"scatter_elements", {}, {x, longs({0}), floats({1}, {0})}}).ok());
  CHECK_FALSE(error_of({"scatter_elements", {}, {x, longs({1, 1}, {0}), longs({1, 1}, {0})}}).ok());
  CHECK_FALSE(
      error_of(
          {"scatter_elements", reduction("mean"), {x, longs({1, 1}, {0}), floats({1, 1}, {0})}})
          .ok());
  CHECK_FALSE(error_of({"scatter_nd", {}, {x, longs({1, 3}, {0, 0, 0}), floats({1}, {0})}}).ok());
  CHECK_FALSE(error_of({"scatter_nd", {}, {x, longs({1, 1}, {0}), floats({1}, {0})}}).ok());
  const Dim batch("batch");
  CHECK(infer("scatter_elements", {},
              {unknown(kFloat, {batch, 3}), unknown(kLong, DynamicShape()),
               unknown(kFloat, DynamicShape())})
            .str() == "float32 batchx3");
  CHECK(infer("scatter_nd", {},
              {unknown(kFloat, {batch, 3}), unknown(kLong, {Dim(), Dim()}),
               unknown(kFloat, {Dim(), 3})})
            .str() == "float32 batchx3");
}

}  // namespace
}  // namespace softneuro::test
