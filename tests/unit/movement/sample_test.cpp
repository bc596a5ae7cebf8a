// grid_sample and roi_align.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
using V = std::vector<double>;

V sampled(std::string mode, std::string padding, std::int64_t align, const Tensor& x,
          const Tensor& grid) {
  return values_of(run(
      {"grid_sample",
       params(
           {{"mode", std::move(mode)}, {"padding", std::move(padding)}, {"align_corners", align}}),
       {x, grid}})[0]);
}

void check_close(const V& actual, const V& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    CHECK(actual[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
}

TEST_CASE("grid_sample reads between elements", "[movement]") {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = floats({1, 1, 4, 2}, {0, 0, -1, -1, 1, -1, 0.5f, 0});
  check_close(sampled("linear", "zeros", 1, x, grid), {2.5, 1, 2, 2.75});
  check_close(sampled("linear", "zeros", 0, x, grid), {2.5, 0.25, 0.5, 3});
  check_close(sampled("linear", "border", 0, x, grid), {2.5, 1, 2, 3});
  const Tensor places = floats({1, 1, 3, 2}, {-0.5f, -0.5f, 0.9f, 0.4f, -3, 0.5f});
  CHECK(sampled("nearest", "zeros", 0, x, places) == V{1, 4, 0});
  CHECK(sampled("nearest", "border", 0, x, places) == V{1, 4, 3});
  CHECK(sampled("nearest", "reflection", 0, x, places) == V{1, 4, 4});
}

TEST_CASE("grid_sample continues x as the padding says", "[movement]") {
  const Tensor x = floats({1, 1, 1, 4}, {0, 1, 2, 3});
  const auto line = [&](const std::string& padding, std::int64_t align, float at) {
    return sampled("linear", padding, align, x, floats({1, 1, 1, 2}, {at, 0}))[0];
  };
  // Positions −1.5 and 5.5 without aligned corners.
  CHECK(line("reflection", 0, -1.5f) == Approx(0.5));
  CHECK(line("reflection", 0, 2) == Approx(1.5));
  CHECK(line("border", 0, 2) == Approx(3));
  CHECK(line("zeros", 0, 2) == Approx(0));
  CHECK(line("zeros", 0, 1) == Approx(1.5));
  // Position 6 with aligned corners: back at the start.
  CHECK(line("reflection", 1, 3) == Approx(0).margin(1e-6));
  CHECK(line("reflection", 1, -7.0f / 3) == Approx(2));
  for (const float wild : {NAN, INFINITY, -INFINITY, 1e30f}) {
    CHECK(line("zeros", 0, wild) == 0);
    CHECK(line("border", 0, wild) == (wild == -INFINITY || !(wild < 1e20f) ? 0 : 3));
    const double reflected = line("reflection", 0, wild);
    CHECK((reflected >= 0 && reflected <= 3));
  }
}

TEST_CASE("grid_sample cubic and in three dimensions", "[movement]") {
  // Σ k(i − 0.85) · (3 + i), with the cubic's a of −0.75.
  const Tensor x = counting(kFloat, {1, 1, 1, 8});
  check_close(sampled("cubic", "border", 1, x, floats({1, 1, 2, 2}, {0, 0, 0.1f, 0})),
              {3.5, 3.805375});
  const Tensor cube = counting(kFloat, {1, 2, 2, 2, 2});
  const Tensor grid = floats({1, 1, 1, 2, 3}, {0, 0, 0, 1, -1, 1});
  check_close(sampled("linear", "zeros", 1, cube, grid), {3.5, 5, 11.5, 13});
  const auto integers = run({"grid_sample",
                             params({{"mode", std::string("nearest")}}),
                             {longs({1, 1, 1, 1}, {INT64_MAX}), floats({1, 1, 1, 2}, {0, 0})}});
  CHECK(integers[0].values<std::int64_t>()[0] == INT64_MAX);
}

TEST_CASE("grid_sample infers shapes", "[movement]") {
  const Dim batch("batch");
  const auto inferred = [](DynamicShape x, DynamicShape grid) {
    return infer("grid_sample", {},
                 {unknown(kFloat, std::move(x)), unknown(kFloat, std::move(grid))})
        .str();
  };
  CHECK(inferred({Dim(), 3, 8, 8}, {batch, 5, 6, 2}) == "float32 batchx3x5x6");
  CHECK(inferred({1, 3, 8, 8}, DynamicShape()) == "float32 ?x?x?x?");
  CHECK(inferred({1, 3, 8, 8}, {1, 5, 6, 3}).find("spatial axes") != std::string::npos);
  CHECK(inferred({1, 3, 8, 8}, {2, 5, 6, 2}).find("batches differ") != std::string::npos);
  CHECK(inferred({1, 3, 0, 8}, {1, 5, 6, 2}).find("nothing to sample") != std::string::npos);
  CHECK(inferred({1, 3, 8}, {1, 5, 6, 2}).find("same rank") != std::string::npos);
}

Params roi_params(std::string mode, std::int64_t rows, std::int64_t columns, std::int64_t ratio,
                  std::string coordinates) {
  return params({{"mode", std::move(mode)},
                 {"output_height", rows},
                 {"output_width", columns},
                 {"sampling_ratio", ratio},
                 {"coordinate_transformation_mode", std::move(coordinates)}});
}

TEST_CASE("roi_align pools regions", "[movement]") {
  // x[r, c] = 10 r + c: bilinear samples give the position back, means the bin's centre.
  const Tensor x =
      floats({1, 1, 4, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33});
  const auto pooled = [&](Params how, std::initializer_list<float> roi) {
    return values_of(run({"roi_align", std::move(how), {x, floats({1, 4}, roi), longs({0})}})[0]);
  };
  check_close(pooled(roi_params("avg", 1, 1, 0, "output_half_pixel"), {1, 1, 3, 3}), {22});
  check_close(pooled(roi_params("avg", 1, 1, 0, "half_pixel"), {1, 1, 3, 3}), {16.5});
  check_close(pooled(roi_params("avg", 2, 2, 2, "output_half_pixel"), {0, 0, 2, 2}),
              {5.5, 6.5, 15.5, 16.5});
  // Half of the samples lie beyond −1 and count as 0.
  check_close(pooled(roi_params("avg", 1, 1, 2, "output_half_pixel"), {-9, 1, 1, 2}), {0});
  check_close(pooled(roi_params("avg", 1, 1, 2, "output_half_pixel"), {-3, 1, 1, 2}), {7.5});
  check_close(pooled(roi_params("max", 1, 1, 1, "output_half_pixel"), {1, 1, 3, 3}), {22});
  // A vast region: only the samples on the image cost time.
  const V vast = pooled(roi_params("avg", 1, 1, 0, "half_pixel"), {-1e8f, -1e8f, 1e8f, 1e8f});
  CHECK(std::abs(vast[0]) < 1e-6);
}

TEST_CASE("roi_align checks regions", "[movement]") {
  const Tensor x = floats({1, 1, 1, 1}, {1});
  CHECK(error_of({"roi_align", {}, {x, floats({1, 4}, {0, 0, 1, 1}), longs({1})}})
            .message()
            .find("indices[0] is 1") != std::string::npos);
  CHECK(error_of({"roi_align", {}, {x, floats({1, 4}, {0, 0, NAN, 1}), longs({0})}})
            .message()
            .find("rois[0, 2]") != std::string::npos);
  CHECK_FALSE(error_of({"roi_align", {}, {x, floats({1, 3}, {0, 0, 1}), longs({0})}}).ok());
  CHECK_FALSE(error_of({"roi_align", {}, {x, floats({1, 4}, {0, 0, 1, 1}), longs({0, 0})}}).ok());
  CHECK_FALSE(error_of({"roi_align",
                        params({{"output_height", std::int64_t{0}}}),
                        {x, floats({1, 4}, {0, 0, 1, 1}), longs({0})}})
                  .ok());
  CHECK_FALSE(error_of({"roi_align",
                        params({{"sampling_ratio", INT64_MAX}}),
                        {x, floats({1, 4}, {0, 0, 1, 1}), longs({0})}})
                  .ok());
  CHECK(infer("roi_align", roi_params("avg", 7, 5, 0, "half_pixel"),
              {unknown(kFloat, {1, 256, Dim(), Dim()}), unknown(kFloat, {Dim("rois"), 4}),
               unknown(DataType::int64, {Dim()})})
            .str() == "float32 roisx256x7x5");
}

}  // namespace
}  // namespace softneuro::test
