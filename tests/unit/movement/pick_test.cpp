// Layers whose output's size depends on data: nonzero, compress, unique, non_max_suppression.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
using V = std::vector<double>;

TEST_CASE("nonzero lists indices", "[movement]") {
  const auto y = run({"nonzero", {}, {tensor<bool>({2, 2}, {true, false, true, true})}});
  CHECK(y[0].shape() == Shape{2, 3});
  CHECK(values_of(y[0]) == V{0, 1, 1, 0, 0, 1});
  CHECK(run({"nonzero", {}, {floats({3}, {0, 0, 0})}})[0].shape() == Shape{1, 0});
  CHECK(run({"nonzero", {}, {floats({}, {5})}})[0].shape() == Shape{0, 1});
  CHECK(infer("nonzero", {}, {unknown(kFloat, {2, 3, 4})}).str() == "int64 3x?");
  CHECK(infer("nonzero", {}, {unknown(kFloat, DynamicShape())}).str() == "int64 ?x?");
}

TEST_CASE("compress picks slices", "[movement]") {
  const Tensor x = counting(kFloat, {3, 2});
  const auto picked = [&](std::int64_t axis, const Tensor& condition) {
    return run({"compress", params({{"axis", axis}}), {x, condition}})[0];
  };
  CHECK(values_of(picked(0, tensor<bool>({3}, {false, true, true}))) == V{2, 3, 4, 5});
  CHECK(values_of(picked(-1, tensor<bool>({2}, {false, true}))) == V{1, 3, 5});
  CHECK(picked(0, tensor<bool>({2}, {true, false})).shape() == Shape{1, 2});
  const auto flat =
      run({"compress", {}, {x, tensor<bool>({5}, {false, true, false, false, true})}});
  CHECK(values_of(flat[0]) == V{1, 4});
  CHECK(values_of(picked(1, tensor<bool>({3}, {true, false, false}))) == V{0, 2, 4});
  CHECK_FALSE(error_of({"compress",
                        params({{"axis", std::int64_t{1}}}),
                        {x, tensor<bool>({3}, {true, false, true})}})
                  .ok());
  CHECK_FALSE(
      error_of({"compress", params({{"axis", std::int64_t{2}}}), {x, tensor<bool>({1}, {true})}})
          .ok());
  CHECK_FALSE(error_of({"compress", {}, {x, floats({1}, {1})}}).ok());
  CHECK(infer("compress", params({{"axis", std::int64_t{1}}}),
              {unknown(kFloat, {Dim("n"), 3}), unknown(DataType::boolean, {3})})
            .str() == "float32 nx?");
}

TEST_CASE("unique elements", "[movement]") {
  const Tensor x = floats({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = run({"unique", {}, {x}, 4});
  CHECK(values_of(sorted[0]) == V{1, 2, 3, 4});
  CHECK(values_of(sorted[1]) == V{1, 0, 3, 4});
  CHECK(values_of(sorted[2]) == V{1, 0, 0, 2, 3, 2});
  CHECK(values_of(sorted[3]) == V{2, 1, 2, 1});
  const auto plain = run({"unique", params({{"sorted", std::int64_t{0}}}), {x}, 4});
  CHECK(values_of(plain[0]) == V{2, 1, 3, 4});
  CHECK(values_of(plain[1]) == V{0, 1, 3, 4});
  CHECK(values_of(plain[2]) == V{0, 1, 1, 2, 3, 2});
  CHECK(values_of(plain[3]) == V{1, 2, 2, 1});
  CHECK(run({"unique", {}, {floats({0}, {})}, 4})[0].shape() == Shape{0});
  CHECK(run({"unique", {}, {floats({3}, {NAN, 1, NAN})}, 1})[0].shape() == Shape{2});
  CHECK(run({"unique", {}, {tensor<std::uint64_t>({2}, {UINT64_MAX, 1})}})[0]
            .values<std::uint64_t>()[0] == 1);
}

TEST_CASE("unique slices", "[movement]") {
  const Tensor x = floats({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  const auto rows = run({"unique", params({{"axis", std::int64_t{0}}}), {x}, 4});
  CHECK(rows[0].shape() == Shape{2, 3});
  CHECK(values_of(rows[0]) == V{1, 0, 0, 2, 3, 4});
  CHECK(values_of(rows[1]) == V{0, 2});
  CHECK(values_of(rows[2]) == V{0, 0, 1});
  CHECK(values_of(rows[3]) == V{2, 1});
  const auto columns = run({"unique", params({{"axis", std::int64_t{-1}}}), {x}, 4});
  CHECK(values_of(columns[0]) == V{0, 0, 1, 0, 0, 1, 3, 4, 2});
  CHECK(infer("unique", params({{"axis", std::int64_t{0}}}), {unknown(kFloat, {Dim("n"), 3})}, 4)
            .outputs[2]
            .shape.str() == "n");
}

struct Nms {
  std::int64_t limit;
  float iou, score;
};
V suppressed(const Tensor& boxes, const Tensor& scores, Nms nms, std::int64_t center = 0) {
  const auto y =
      run({"non_max_suppression",
           params({{"center_point_box", center}}),
           {boxes, scores, longs({nms.limit}), floats({1}, {nms.iou}), floats({1}, {nms.score})}});
  CHECK(y[0].shape()[1] == 3);
  return values_of(y[0]);
}

TEST_CASE("non_max_suppression", "[movement]") {
  // The operator's own examples.
  const Tensor corners = floats({1, 6, 4}, {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                                            0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101});
  const Tensor scores = floats({1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f});
  CHECK(suppressed(corners, scores, {3, 0.5f, 0}) == V{0, 0, 3, 0, 0, 0, 0, 0, 5});
  CHECK(suppressed(corners, scores, {3, 0.5f, 0.4f}) == V{0, 0, 3, 0, 0, 0});
  CHECK(suppressed(corners, scores, {2, 0.5f, 0}) == V{0, 0, 3, 0, 0, 0});
  CHECK(suppressed(corners, scores, {0, 0.5f, 0}).empty());
  const Tensor flipped = floats({1, 6, 4}, {1, 1,  0, 0,  0, 0.1f,  1, 1.1f,  0, 0.9f, 1, -0.1f,
                                            0, 10, 1, 11, 1, 10.1f, 0, 11.1f, 1, 101,  0, 100});
  CHECK(suppressed(flipped, scores, {3, 0.5f, 0}) == V{0, 0, 3, 0, 0, 0, 0, 0, 5});
  const Tensor centers =
      floats({1, 6, 4}, {0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                         0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1});
  CHECK(suppressed(centers, scores, {3, 0.5f, 0}, 1) == V{0, 0, 3, 0, 0, 0, 0, 0, 5});
  // Two classes, equal scores, and one that is not a number.
  const Tensor two = floats({1, 2, 6}, {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, NAN, 0, 0, 0, 0, 1});
  CHECK(suppressed(corners, two, {2, 0.5f, -1}) == V{0, 0, 0, 0, 0, 3, 0, 1, 5, 0, 1, 1});
  CHECK(run({"non_max_suppression", {}, {corners, scores}})[0].shape() == Shape{0, 3});
  CHECK_FALSE(
      error_of({"non_max_suppression", {}, {corners, scores, longs({1}), floats({1}, {2})}}).ok());
  CHECK_FALSE(error_of({"non_max_suppression", {}, {corners, floats({1, 1, 1}, {1})}}).ok());
  CHECK_FALSE(
      error_of({"non_max_suppression", {}, {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 1}, {1})}})
          .ok());
  CHECK(infer("non_max_suppression", {},
              {unknown(kFloat, {1, Dim(), 4}), unknown(kFloat, {1, 80, Dim()})})
            .str() == "int64 ?x3");
}

}  // namespace
}  // namespace softneuro::test
