#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
using List = std::initializer_list<std::int64_t>;

TEST_CASE("slice takes every step-th index", "[movement]") {
  const Tensor x = counting(kFloat, {3, 4});
  const auto sliced = [&](List starts, List ends, List axes, List steps) {
    return values_of(
        run({"slice", {}, {x, longs(starts), longs(ends), longs(axes), longs(steps)}})[0]);
  };
  using V = std::vector<double>;
  CHECK(sliced({1, 0}, {3, 4}, {0, 1}, {1, 2}) == V{4, 6, 8, 10});
  CHECK(sliced({-1}, {INT64_MIN}, {1}, {-1}) == V{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8});
  CHECK(sliced({-1, 3}, {-4, 0}, {0, 1}, {-1, -2}) == V{11, 9, 7, 5, 3, 1});
  CHECK(sliced({0}, {INT64_MAX}, {-2}, {2}) == V{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(sliced({1}, {1}, {0}, {1}).empty());
  CHECK(sliced({2}, {1}, {0}, {1}).empty());
  CHECK(sliced({0}, {INT64_MAX}, {1}, {INT64_MAX}) == V{0, 4, 8});
  CHECK(sliced({INT64_MAX}, {INT64_MIN}, {1}, {INT64_MIN}) == V{3, 7, 11});
  CHECK(sliced({INT64_MIN}, {1}, {1}, {1}) == V{0, 4, 8});
  CHECK(values_of(run({"slice", {}, {x, longs({1, 2}), longs({2, 4})}})[0]) == V{6, 7});
  const auto narrow = run({"slice",
                           {},
                           {x, tensor<std::int32_t>({1}, {1}), tensor<std::int32_t>({1}, {2}),
                            tensor<std::int32_t>({1}, {0})}});
  CHECK(values_of(narrow[0]) == V{4, 5, 6, 7});
}

TEST_CASE("slice infers shapes", "[movement]") {
  const Dim batch("batch");
  const auto inferred = [](DynamicShape x, List starts, List ends, List axes, List steps) {
    return infer("slice", {},
                 {unknown(kFloat, std::move(x)), known(longs(starts)), known(longs(ends)),
                  known(longs(axes)), known(longs(steps))})
        .str();
  };
  CHECK(inferred({batch, 8}, {0}, {4}, {1}, {1}) == "float32 batchx4");
  CHECK(inferred({batch, 8}, {0, 1}, {INT32_MAX, 8}, {0, 1}, {1, 3}) == "float32 batchx3");
  CHECK(inferred({batch, 8}, {-1}, {INT64_MIN}, {0}, {-1}) == "float32 batchx8");
  CHECK(inferred({batch, 8}, {1}, {INT64_MAX}, {0}, {1}) == "float32 ?x8");
  CHECK(inferred({0, 8}, {0}, {5}, {0}, {1}) == "float32 0x8");
  CHECK(inferred(DynamicShape(), {0}, {4}, {1}, {1}) == "float32 unknown");
  CHECK(inferred({4}, {0}, {4}, {1}, {1}).find("axis 1") != std::string::npos);
  CHECK(inferred({4}, {0}, {4}, {0}, {0}).find("steps[0] is 0") != std::string::npos);
  CHECK(inferred({4}, {0}, {4, 5}, {0}, {1}).find("equally long") != std::string::npos);
  CHECK(inferred({4}, {0, 0}, {4, 4}, {0, -1}, {1, 1}).find("more than once") != std::string::npos);

  const auto unknown_starts = unknown(DataType::int64, {1});
  const auto x = unknown(kFloat, {batch, 8, 9});
  CHECK(infer("slice", {}, {x, unknown_starts, unknown_starts}).str() == "float32 ?x8x9");
  CHECK(infer("slice", {}, {x, unknown_starts, unknown_starts, known(longs({2}))}).str() ==
        "float32 batchx8x?");
  CHECK(infer("slice", {}, {x, known(longs({1})), known(longs({2})), unknown_starts}).str() ==
        "float32 ?x?x?");
  CHECK(infer("slice", {}, {unknown(kFloat, {4}), known(longs({0, 0})), known(longs({1, 1}))})
            .str()
            .find("2 starts") != std::string::npos);
}

}  // namespace
}  // namespace softneuro::test
