// Layers that make or repeat data: expand, tile, fill, range, shape, size, eye_like, pad.
#include <catch2/catch.hpp>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
const Dim kBatch("batch");
using List = std::initializer_list<std::int64_t>;
using V = std::vector<double>;

TEST_CASE("expand broadcasts", "[movement]") {
  const auto y = run({"expand", {}, {floats({3, 1}, {1, 2, 3}), longs({2, 1, 2})}});
  CHECK(y[0].shape() == Shape{2, 3, 2});
  CHECK(values_of(y[0]) == V{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
  CHECK(values_of(run({"expand", {}, {counting(kFloat, {2, 2}), longs({1})}})[0]) == V{0, 1, 2, 3});
  CHECK(run({"expand", {}, {floats({1}, {4}), longs({0})}})[0].shape() == Shape{0});
  const auto inferred = [](DynamicShape x, List shape) {
    return infer("expand", {}, {unknown(kFloat, std::move(x)), known(longs(shape))}).str();
  };
  CHECK(inferred({kBatch, 1}, {1, 5}) == "float32 batchx5");
  CHECK(inferred({3}, {4}).find("broadcast") != std::string::npos);
  CHECK(inferred({3}, {-1}).find("negative") != std::string::npos);
  CHECK(infer("expand", {}, {unknown(kFloat, {1, 5}), unknown(DataType::int64, {3})}).str() ==
        "float32 ?x?x5");
}

TEST_CASE("tile repeats", "[movement]") {
  const auto y = run({"tile", {}, {counting(kFloat, {2, 2}), longs({2, 2})}});
  CHECK(values_of(y[0]) == V{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(run({"tile", {}, {counting(kFloat, {2, 2}), longs({0, 2})}})[0].shape() == Shape{0, 4});
  const auto eight =
      run({"tile",
           {},
           {counting(DataType::int8, {1, 2, 1, 2, 1, 2, 1, 2}), longs({2, 2, 2, 2, 2, 2, 2, 2})}});
  CHECK(eight[0].elements() == 4096);
  const auto inferred = [](DynamicShape x, List repeats) {
    return infer("tile", {}, {unknown(kFloat, std::move(x)), known(longs(repeats))}).str();
  };
  CHECK(inferred({kBatch, 3}, {1, 2}) == "float32 batchx6");
  CHECK(inferred({kBatch, 3}, {2, 2}) == "float32 ?x6");
  CHECK(inferred(DynamicShape(), {2, 0}) == "float32 ?x0");
  CHECK(inferred({2}, {1, 1}).find("2 entries") != std::string::npos);
  CHECK(inferred({2}, {-1}).find("negative") != std::string::npos);
  CHECK(inferred({INT64_MAX}, {2}).find("overflows") != std::string::npos);
  CHECK(infer("tile", {}, {unknown(kFloat, {2, 3}), unknown(DataType::int64, {Dim()})}).str() ==
        "float32 ?x?");
}

TEST_CASE("fill repeats one value", "[movement]") {
  const auto y = run({"fill", {}, {longs({2, 2}), tensor<std::int16_t>({1}, {-7})}});
  CHECK(y[0].data_type() == DataType::int16);
  CHECK(values_of(y[0]) == V{-7, -7, -7, -7});
  CHECK(run({"fill", {}, {longs({}), floats({}, {3})}})[0].shape() == Shape{});
  CHECK(error_of({"fill", {}, {longs({-1}), floats({}, {3})}}).message().find("negative") !=
        std::string::npos);
  CHECK_FALSE(error_of({"fill", {}, {longs({1}), floats({2}, {3, 4})}}).ok());
  CHECK(infer("fill", {}, {unknown(DataType::int64, {2}), unknown(kFloat, {1})}).str() ==
        "float32 ?x?");
}

TEST_CASE("range counts", "[movement]") {
  const auto counted = [](const Tensor& start, const Tensor& limit, const Tensor& delta) {
    return values_of(run({"range", {}, {start, limit, delta}})[0]);
  };
  CHECK(counted(floats({}, {1}), floats({}, {5}), floats({}, {2})) == V{1, 3});
  CHECK(counted(floats({}, {5}), floats({}, {1}), floats({}, {-1.5f})) == V{5, 3.5, 2});
  CHECK(counted(longs({}, {10}), longs({}, {6}), longs({}, {-3})) == V{10, 7});
  CHECK(counted(longs({}, {1}), longs({}, {1}), longs({}, {3})).empty());
  const auto far =
      run({"range", {}, {longs({}, {INT64_MIN}), longs({}, {INT64_MAX}), longs({}, {INT64_MAX})}});
  CHECK(far[0].values<std::int64_t>()[2] == INT64_MAX - 1);
  const auto failure = [](const Tensor& start, const Tensor& limit, const Tensor& delta) {
    return error_of({"range", {}, {start, limit, delta}}).message();
  };
  CHECK(failure(longs({}, {0}), longs({}, {5}), longs({}, {0})).find("delta is 0") !=
        std::string::npos);
  CHECK(failure(floats({}, {0}), floats({}, {5}), floats({}, {0})).find("not finite") !=
        std::string::npos);
  CHECK(failure(longs({}, {INT64_MIN}), longs({}, {INT64_MAX}), longs({}, {1})).find("too many") !=
        std::string::npos);
  CHECK(infer("range", {},
              {unknown(kFloat, Shape{}), unknown(kFloat, Shape{}), unknown(kFloat, Shape{})})
            .str() == "float32 ?");
}

TEST_CASE("shape and size look at no data", "[movement]") {
  const Tensor x = counting(kFloat, {2, 3, 4});
  const auto shape = [&](std::int64_t start, std::int64_t end) {
    return values_of(run({"shape", params({{"start", start}, {"end", end}}), {x}})[0]);
  };
  CHECK(values_of(run({"shape", {}, {x}})[0]) == V{2, 3, 4});
  CHECK(shape(1, INT64_MAX) == V{3, 4});
  CHECK(shape(-2, -1) == V{3});
  CHECK(shape(2, 1).empty());
  CHECK(shape(-9, 9) == V{2, 3, 4});
  CHECK(values_of(run({"size", {}, {x}})[0]) == V{24});
  CHECK(infer("shape", {}, {unknown(kFloat, {kBatch, 3})}).str() == "int64 2");
  CHECK(infer("shape", {}, {unknown(kFloat, DynamicShape())}).str() == "int64 ?");
}

TEST_CASE("eye_like draws a diagonal", "[movement]") {
  const auto y = run({"eye_like",
                      params({{"k", std::int64_t{1}}, {"to", std::string("int8")}}),
                      {counting(kFloat, {2, 3})}});
  CHECK(y[0].data_type() == DataType::int8);
  CHECK(values_of(y[0]) == V{0, 1, 0, 0, 0, 1});
  CHECK(infer("eye_like", {}, {unknown(kFloat, {kBatch, 3})}).str() == "float32 batchx3");
  CHECK_FALSE(infer("eye_like", {}, {unknown(kFloat, {2})}).status.ok());
  CHECK_FALSE(infer("eye_like", params({{"to", std::string("int7")}}), {unknown(kFloat, {2, 2})})
                  .status.ok());
}

}  // namespace
}  // namespace softneuro::test
