// What rounding explains of a difference between two tensors, and what it does not.
#include "verify/tensor_difference.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace softneuro;

namespace {

constexpr std::int64_t kCount = 4096;

Tensor filled(const std::vector<float>& values) {
  Tensor tensor =
      Tensor::create(DataType::float32, Shape{static_cast<std::int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
  return tensor;
}

std::vector<float> normal_values(float width = 1) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, width);
  std::vector<float> values(kCount);
  for (float& value : values) value = normal(random);
  return values;
}

// Times `factor`, then to multiples of `step`.
Tensor rounded(std::vector<float> values, float factor, float step) {
  for (float& value : values) value = step * std::nearbyint(value * factor / step);
  return filled(values);
}

Tolerance tolerance_by(DataType type, double step) {
  Tolerance tolerance;
  tolerance.relative = tolerance_of(type);
  tolerance.unbiased = type != DataType::float32;
  tolerance.step = step;
  return tolerance;
}

}  // namespace

TEST_CASE("tensor difference: rounding to 8 bits is explained, one per cent too much is not",
          "[verification]") {
  const std::vector<float> values = normal_values();
  const Tolerance tolerance = tolerance_by(DataType::qint8, 6.0 / 255);
  for (const float factor : {1.0f, 1.01f, 0.99f}) {
    CAPTURE(factor);
    const std::string why =
        mismatch(filled(values), rounded(values, factor, 6.0f / 255), tolerance);
    CHECK(why.empty() == (factor == 1.0f));
  }
}

TEST_CASE("tensor difference: rounding to 11 bits is explained, one per cent too much is not",
          "[verification]") {
  const std::vector<float> values = normal_values();
  const Tolerance tolerance = tolerance_by(DataType::float16, 0);
  CHECK(mismatch(filled(values), rounded(values, 1, 0x1p-10f), tolerance).empty());
  CHECK(mismatch(filled(values), rounded(values, 1.01f, 0x1p-10f), tolerance)
            .find("scaled by 1.01") != std::string::npos);
}

TEST_CASE("tensor difference: copies of few numbers may all be rounded one way", "[verification]") {
  const std::vector<float> all = normal_values();
  const Tolerance tolerance = tolerance_by(DataType::qint8, 0.1);
  for (std::size_t first = 0; first + 12 <= all.size(); first += 12) {
    std::vector<float> copies;
    for (int copy = 0; copy < 50; ++copy)
      copies.insert(copies.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                    all.begin() + static_cast<std::ptrdiff_t>(first) + 12);
    CAPTURE(first);
    CHECK(mismatch(filled(copies), rounded(copies, 1, 0.1f), tolerance).empty());
  }
  std::vector<float> twice = all;
  twice.insert(twice.end(), all.begin(), all.end());
  CHECK_FALSE(mismatch(filled(twice), rounded(twice, 1.01f, 0.1f), tolerance).empty());
}

TEST_CASE("tensor difference: values within a few levels may shrink by rounding alone",
          "[verification]") {
  const std::vector<float> values = normal_values(0.3f);  // of a level
  CHECK(mismatch(filled(values), rounded(values, 1, 1), tolerance_by(DataType::qint8, 1)).empty());
}

TEST_CASE("tensor difference: in float32 few values on levels may move, by one level",
          "[verification]") {
  Tolerance tolerance = tolerance_by(DataType::float32, 1);
  tolerance.on_levels = true;
  const Tensor expected = rounded(normal_values(20), 1, 1);
  const auto moved = [&](std::size_t count, float by) {
    Tensor actual = expected.clone().value();
    for (std::size_t i = 0; i < count; ++i) actual.mutable_values<float>()[i] += by;
    return actual;
  };
  CHECK(mismatch(expected, moved(40, 1), tolerance).empty());
  CHECK_FALSE(mismatch(expected, moved(400, 1), tolerance).empty());
  CHECK_FALSE(mismatch(expected, moved(10, 2), tolerance).empty());
}

TEST_CASE("tensor difference: NaN and infinities have to be where they are expected",
          "[verification]") {
  std::vector<float> values = normal_values();
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[4] = std::numeric_limits<float>::infinity();
  const Tensor expected = filled(values);
  CHECK(mismatch(expected, expected, tolerance_by(DataType::float16, 0)).empty());
  values[4] = 65504;
  CHECK_FALSE(mismatch(expected, filled(values), tolerance_by(DataType::float16, 0)).empty());
}
