// The ranges that follow from the values of a tensor.
#include "quantization/histogram.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace softneuro;

namespace {

std::vector<float> gaussian(std::size_t count, float mean, float sigma, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, sigma);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Mean squared error of values that are rounded to the levels of q.
double error_of(const std::vector<float>& values, const Quantization& q) {
  double sum = 0;
  for (const float x : values) {
    const double level =
        std::clamp<double>(std::nearbyint(x / q.scales[0]) + q.zero_points[0], 0, 255);
    const double e = q.scales[0] * (level - q.zero_points[0]) - x;
    sum += e * e;
  }
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("histogram: growing in pieces counts as all at once", "[quantization]") {
  // Spans of very different sizes and places: the bins move and merge.
  Histogram pieces, whole, merged;
  std::vector<float> all;
  for (int i = 0; i < 40; ++i) {
    const float sigma = std::ldexp(1.0f, i % 7 * 3 - 9);
    const std::vector<float> some =
        gaussian(997, i % 2 == 0 ? 0.0f : 5 * sigma, sigma, static_cast<unsigned>(i));
    pieces.add(some);
    Histogram part;
    part.add(some);
    merged.merge(part);
    all.insert(all.end(), some.begin(), some.end());
  }
  whole.add(all);
  for (const Histogram* h : {&pieces, &merged}) {
    CHECK(h->count() == whole.count());
    CHECK(h->low() == whole.low());
    CHECK(h->high() == whole.high());
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < Histogram::kBins; ++i) counted += h->bin(i);
    CHECK(counted == h->count());
    // Bins may be of another width, but each holds what lies between its edges.
    for (const std::int64_t i : {std::int64_t{1000}, std::int64_t{1024}, std::int64_t{1100}}) {
      std::int64_t expected = 0;
      for (const float x : all) expected += x >= h->edge(i) && x < h->edge(i + 1);
      CHECK(h->bin(i) == expected);
    }
  }
}

TEST_CASE("histogram: zeros, constants and what is not finite", "[quantization]") {
  Histogram h;
  CHECK(h.is_constant());
  h.add(std::vector<float>{0, 0, -0.0f});
  CHECK(h.zeros() == 3);
  CHECK(h.is_constant());
  CHECK(h.empty());
  h.add(std::vector<float>{0, 2});
  CHECK_FALSE(h.is_constant());
  h.add(std::vector<float>{1, NAN, INFINITY});
  CHECK(h.not_finite() == 2);
  CHECK(h.count() == 5);  // the span with NaN is left out
  CHECK(h.high() == 2);

  Histogram constant;
  constant.add(std::vector<float>{7, 7});
  constant.add(std::vector<float>{7});
  CHECK(constant.is_constant());
  CHECK(constant.high() == 7);
  Histogram other;
  other.add(std::vector<float>{8});
  constant.merge(other);
  CHECK_FALSE(constant.is_constant());

  Histogram extreme;  // tiny, then huge: no overflow, nothing lost
  extreme.add(std::vector<float>{1e-45f, -1e-40f});
  extreme.add(std::vector<float>{3e38f, -3e38f});
  CHECK(extreme.count() == 4);
  CHECK(std::isfinite(quantization_for(min_max_range(extreme)).scales[0]));
}

TEST_CASE("ranges: zero is exactly a level, whatever the range", "[quantization]") {
  for (const ValueRange range : {ValueRange{-1, 3}, ValueRange{2, 5}, ValueRange{-7, -1},
                                 ValueRange{0, 0}, ValueRange{-1e-38, 0}, ValueRange{0, 1e38}}) {
    const Quantization q = quantization_for(range);
    CHECK(q.zero_points[0] >= 0);
    CHECK(q.zero_points[0] <= 255);
    CHECK(q.scales[0] > 0);
    CHECK(std::isfinite(q.scales[0]));
  }
  const Quantization q = quantization_for({-1, 3});
  CHECK(q.scales[0] == Approx(4.0 / 255));
  CHECK(q.zero_points[0] == 64);
  CHECK(quantization_for({2, 5}).zero_points[0] == 0);  // stretched to hold 0
}

TEST_CASE("ranges: percentile leaves out the extremes only", "[quantization]") {
  std::vector<float> values = gaussian(20000, 0, 1, 1);
  values.push_back(1000);
  values.push_back(-500);
  Histogram h;
  h.add(values);
  CHECK(min_max_range(h).high == 1000);
  CHECK(min_max_range(h).low == -500);
  CHECK(percentile_range(h, 100).high == 1000);
  const ValueRange range = percentile_range(h, 99.9);
  CHECK(range.high < 6);
  CHECK(range.high >= 2);
  CHECK(range.low > -6);
  CHECK(range.low <= -2);
}

TEST_CASE("ranges: the mse range has a lower error than min-max", "[quantization]") {
  std::vector<float> values = gaussian(50000, 0.3f, 1, 2);
  for (float& value : values) value = value * value * value;  // heavy tails
  Histogram h;
  h.add(values);
  const double all = error_of(values, quantization_for(min_max_range(h)));
  const double best = error_of(values, quantization_for(mse_range(h)));
  CHECK(best < 0.97 * all);
  // Uniform values leave nothing to gain.
  std::vector<float> flat(4096);
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = static_cast<float>(i) / 4096;
  Histogram uniform;
  uniform.add(flat);
  CHECK(mse_range(uniform).high == Approx(min_max_range(uniform).high).epsilon(0.02));
}
