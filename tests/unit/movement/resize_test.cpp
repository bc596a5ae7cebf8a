// resize. Expected values are those of the operator's own examples where not plain to see.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
using V = std::vector<double>;

const Tensor& none() {
  static const Tensor empty;
  return empty;
}
Tensor square2() {
  return floats({1, 1, 2, 2}, {1, 2, 3, 4});
}
Tensor square4() {
  return floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}
Params options(std::string mode, std::string coordinates = "half_pixel",
               std::initializer_list<Params::Entry> more = {}) {
  Params all = params(more);
  all.set("mode", std::move(mode));
  all.set("coordinate_mode", std::move(coordinates));
  return all;
}
Tensor scaled(const Tensor& x, Params how, float rows, float columns) {
  return run({"resize", std::move(how), {x, none(), floats({4}, {1, 1, rows, columns})}})[0];
}
Tensor sized(const Tensor& x, Params how, std::int64_t rows, std::int64_t columns) {
  how.set("axes", std::vector<std::int64_t>{2, 3});
  return run({"resize", std::move(how), {x, none(), none(), longs({rows, columns})}})[0];
}
void check_close(const Tensor& actual, const V& expected) {
  const V values = values_of(actual);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
}

TEST_CASE("resize nearest", "[movement]") {
  const Tensor up = scaled(square2(), options("nearest"), 2, 3);
  CHECK(up.shape() == Shape{1, 1, 4, 6});
  CHECK(values_of(up) == V{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  const Tensor wide = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(values_of(scaled(wide, options("nearest"), 0.6f, 0.6f)) == V{1, 3});
  CHECK(values_of(sized(wide, options("nearest"), 1, 3)) == V{1, 2, 4});
  const auto row = [](const std::string& coordinates, const std::string& rounding) {
    const Tensor y =
        sized(square4(), options("nearest", coordinates, {{"nearest_mode", rounding}}), 8, 8);
    const V all = values_of(y);
    return V(all.begin(), all.begin() + 8);
  };
  CHECK(row("align_corners", "floor") == V{1, 1, 1, 2, 2, 3, 3, 4});
  CHECK(row("asymmetric", "ceil") == V{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(row("half_pixel", "round_prefer_ceil") == V{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(row("asymmetric", "round_prefer_floor") == V{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(row("asymmetric", "round_prefer_ceil") == V{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(row("tf_half_pixel_for_nn", "floor") == V{1, 1, 2, 2, 3, 3, 4, 4});
  // Integers beyond the precision of double stay what they are.
  const Tensor exact = run({"resize", {}, {longs({INT64_MAX}), none(), floats({1}, {2})}})[0];
  CHECK(exact.values<std::int64_t>()[1] == INT64_MAX);
}

TEST_CASE("resize linear", "[movement]") {
  check_close(scaled(square2(), options("linear"), 2, 2),
              {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  check_close(scaled(square2(), options("linear", "align_corners"), 2, 2),
              {1, 1.33333333, 1.66666667, 2, 1.66666667, 2, 2.33333333, 2.66666667, 2.33333333,
               2.66666667, 3, 3.33333333, 3, 3.33333333, 3.66666667, 4});
  const Tensor wide = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  check_close(scaled(wide, options("linear"), 0.6f, 0.6f), {2.6666665, 4.3333331});
  check_close(scaled(wide, options("linear", "align_corners"), 0.6f, 0.6f), {1, 3.142857});
  check_close(sized(square4(), options("linear", "pytorch_half_pixel"), 3, 1),
              {1.6666666, 7, 12.333333});
  check_close(scaled(square4(), options("linear", "half_pixel", {{"antialias", std::int64_t{1}}}),
                     0.6f, 0.6f),
              {2.875, 4.5, 9.375, 11});
  check_close(run({"resize",
                   options("linear", "half_pixel_symmetric"),
                   {floats({4}, {1, 2, 3, 4}), none(), floats({1}, {0.6f})}})[0],
              {1.6666667, 3.3333333});
}

TEST_CASE("resize cubic", "[movement]") {
  const V up = values_of(scaled(square4(), options("cubic"), 2, 2));
  const V first = {0.47265625, 0.76953125, 1.24609375, 1.875,
                   2.28125,    2.91015625, 3.38671875, 3.68359375};
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(up[i] == Approx(first[i]));
  check_close(scaled(square4(), options("cubic", "half_pixel", {{"antialias", std::int64_t{1}}}),
                     0.6f, 0.6f),
              {2.5180721, 4.2858863, 9.589329, 11.357142});
  check_close(scaled(square4(),
                     options("cubic", "half_pixel",
                             {{"exclude_outside", std::int64_t{1}}, {"cubic_coeff_a", -0.5}}),
                     0.8f, 0.8f),
              {1.36812675, 2.6695014, 4.0133367, 6.57362535, 7.875, 9.2188353, 11.94896657,
               13.25034122, 14.59417652});
}

TEST_CASE("resize crops", "[movement]") {
  const auto cropped = [](std::initializer_list<float> roi) {
    return run({"resize",
                options("linear", "tf_crop_and_resize", {{"extrapolation_value", 10.0}}),
                {square4(), floats({8}, roi), none(), longs({1, 1, 3, 3})}})[0];
  };
  check_close(cropped({0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f}),
              {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6});
  check_close(cropped({0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f}),
              {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10});
}

TEST_CASE("resize keeps the aspect ratio where asked", "[movement]") {
  const auto shape = [](const std::string& policy) {
    return sized(square2(),
                 options("nearest", "half_pixel", {{"keep_aspect_ratio_policy", policy}}), 7, 8)
        .shape();
  };
  CHECK(shape("stretch") == Shape{1, 1, 7, 8});
  CHECK(shape("not_larger") == Shape{1, 1, 7, 7});
  CHECK(shape("not_smaller") == Shape{1, 1, 8, 8});
}

TEST_CASE("resize of any axes and types", "[movement]") {
  // Channels last, and three axes at once: routines for two adjacent axes must agree or refuse.
  run({"resize",
       options("linear"),
       {counting(kFloat, {2, 3, 5, 3}), none(), floats({4}, {1, 2.5f, 1.7f, 1})}});
  run({"resize",
       options("cubic"),
       {counting(kFloat, {2, 3, 5, 3}), none(), floats({4}, {1, 0.7f, 1.7f, 1})}});
  run({"resize",
       options("nearest"),
       {counting(kFloat, {2, 3, 5, 3}), none(), floats({4}, {1, 2, 2, 1})}});
  run({"resize",
       options("linear"),
       {counting(kFloat, {3, 4, 5}), none(), floats({3}, {2, 1.5f, 3})}});
  run({"resize", options("linear"), {counting(kFloat, {3, 4, 5}), none(), floats({3}, {1, 1, 1})}});
  run({"resize",
       options("cubic"),
       {counting(kFloat, {40, 150}), none(), floats({2}, {1.5f, 0.4f})}});
  run({"resize",
       options("nearest"),
       {counting(kFloat, {3, 40, 50}), none(), floats({3}, {1, 2, 3})}});
  CHECK(values_of(run({"resize",
                       options("linear"),
                       {tensor<std::uint8_t>({2}, {0, 4}), none(), floats({1}, {2})}})[0]) ==
        V{0, 1, 3, 4});
  CHECK(run({"resize", {}, {floats({0}, {}), none(), floats({1}, {2})}})[0].shape() == Shape{0});
  CHECK(run({"resize", {}, {floats({3}, {1, 2, 3}), none(), none(), longs({0})}})[0].shape() ==
        Shape{0});
}

TEST_CASE("resize infers shapes", "[movement]") {
  const Dim batch("batch");
  const auto by_scales = [](DynamicShape x, const Tensor& scales) {
    return infer("resize", {}, {unknown(kFloat, std::move(x)), {}, known(scales)}).str();
  };
  CHECK(by_scales({batch, 3, 8, Dim()}, floats({4}, {1, 1, 2.5f, 2})) == "float32 batchx3x20x?");
  CHECK(by_scales({10}, floats({1}, {0.7f})) == "float32 7");
  CHECK(by_scales(DynamicShape(), floats({1}, {2})) == "float32 unknown");
  CHECK(by_scales({2, 2}, floats({1}, {2})).find("scales has 1") != std::string::npos);
  CHECK(by_scales({2}, floats({1}, {0})).find("above 0") != std::string::npos);
  CHECK(by_scales({2}, floats({1}, {NAN})).find("above 0") != std::string::npos);
  CHECK(by_scales({INT64_MAX}, floats({1}, {2})).find("too many") != std::string::npos);
  const auto by_sizes = [](DynamicShape x, const Tensor& sizes) {
    return infer("resize", {}, {unknown(kFloat, std::move(x)), {}, {}, known(sizes)}).str();
  };
  CHECK(by_sizes({batch, 3}, longs({2, 9})) == "float32 2x9");
  CHECK(by_sizes({0}, longs({9})).find("without elements") != std::string::npos);
  CHECK(by_sizes({3}, longs({-9})).find("negative") != std::string::npos);
  const auto unknown_scales = unknown(kFloat, {4});
  CHECK(infer("resize", {}, {unknown(kFloat, {batch, 3, 8, 8}), {}, unknown_scales}).str() ==
        "float32 ?x?x?x?");
  CHECK(infer("resize", params({{"axes", std::vector<std::int64_t>{-1}}}),
              {unknown(kFloat, {batch, 3}), {}, {}, unknown(DataType::int64, {1})})
            .str() == "float32 batchx?");
  CHECK_FALSE(infer("resize", {}, {unknown(kFloat, {2})}).status.ok());
  CHECK_FALSE(
      infer("resize", {}, {unknown(kFloat, {2}), {}, known(floats({1}, {1})), known(longs({2}))})
          .status.ok());
  CHECK_FALSE(infer("resize", options("nearest", "tf_crop_and_resize"),
                    {unknown(kFloat, {2}), {}, known(floats({1}, {1}))})
                  .status.ok());
  CHECK_FALSE(infer("resize", options("nearest", "corners"),
                    {unknown(kFloat, {2}), {}, known(floats({1}, {1}))})
                  .status.ok());
  CHECK_FALSE(infer("resize", options("linear"),
                    {unknown(DataType::boolean, {2}), {}, known(floats({1}, {1}))})
                  .status.ok());
  CHECK_FALSE(infer("resize", params({{"axes", std::vector<std::int64_t>{0, 0}}}),
                    {unknown(kFloat, {2}), {}, known(floats({2}, {1, 1}))})
                  .status.ok());
}

}  // namespace
}  // namespace softneuro::test
