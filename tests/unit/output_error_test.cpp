// Errors of outputs by each metric, on numbers that can be checked by hand.
#include "verify/output_error.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace softneuro;

namespace {

Tensor values(const std::vector<float>& numbers) {
  Tensor tensor =
      Tensor::create(DataType::float32, Shape{static_cast<std::int64_t>(numbers.size())}).value();
  std::ranges::copy(numbers, tensor.mutable_values<float>().begin());
  return tensor;
}

void add(OutputError& error, const std::vector<Tensor>& expected,
         const std::vector<Tensor>& actual) {
  error.add(expected, actual);
}

}  // namespace

TEST_CASE("output error: relative RMS is over all samples, of the worst output") {
  OutputError error;
  add(error, {values({3, 4}), values({1})}, {values({3, 4}), values({1})});
  CHECK(error.value(ErrorMetric::relative_rms) == 0);
  // Output 0: 5² of difference to 25 + 100; output 1: 1 to 1 + 1.
  add(error, {values({6, 8}), values({1})}, {values({9, 4}), values({2})});
  CHECK(error.value(ErrorMetric::relative_rms) == Approx(std::sqrt(0.5)));
  CHECK(error.samples() == 2);
  const std::vector<double> squares = error.squares_by_sample();
  CHECK(squares[0] == 0);
  CHECK(squares[1] == Approx(0.5));
}

TEST_CASE("output error: cosine is that of the angle, whatever the length; zeros have none") {
  OutputError error;
  add(error, {values({1, 0})}, {values({5, 0})});
  CHECK(error.value(ErrorMetric::cosine) == Approx(0).margin(1e-12));
  add(error, {values({1, 0})}, {values({2, 2})});
  CHECK(error.value(ErrorMetric::cosine) == Approx((1 - std::sqrt(0.5)) / 2));
  OutputError zeros;
  add(zeros, {values({0, 0})}, {values({0, 0})});
  CHECK(zeros.value(ErrorMetric::cosine) == 0);
  add(zeros, {values({0, 0})}, {values({0, 1})});
  CHECK(zeros.value(ErrorMetric::cosine) == Approx(0.5));
}

TEST_CASE("output error: top1 counts samples whose largest element of output 0 is elsewhere") {
  OutputError error;
  add(error, {values({1, 2, 3})}, {values({0, 0, 1})});
  add(error, {values({1, 2, 3})}, {values({0, 4, 1})});
  add(error, {values({1, 2, 3})}, {values({0, 3, 4})});
  add(error, {values({1, 2, 3})}, {values({3, 3, 4})});
  CHECK(error.value(ErrorMetric::top1) == 0.25);
}

TEST_CASE(
    "output error: NaN where the reference is a number is infinite, and no interval hides it") {
  OutputError error;
  add(error, {values({1, 2})}, {values({1, 2})});
  add(error, {values({1, 2})}, {values({1, NAN})});
  for (const ErrorMetric metric : {ErrorMetric::relative_rms, ErrorMetric::cosine}) {
    CHECK(std::isinf(error.value(metric)));
    CHECK(std::isinf(error.interval(metric).high));
  }
  OutputError both;
  add(both, {values({NAN, 2})}, {values({NAN, 2})});
  CHECK(both.value(ErrorMetric::relative_rms) == 0);
}

TEST_CASE("output error: integers of 64 bits are classes, those of 8 bits numbers") {
  OutputError classes;
  add(classes, {Tensor::from<std::int64_t>({7, 3, 900, 2}, Shape{4}).value()},
      {Tensor::from<std::int64_t>({7, 3, 901, 2}, Shape{4}).value()});
  CHECK(classes.value(ErrorMetric::relative_rms) == Approx(std::sqrt(2 * 0.25)));
  CHECK(classes.value(ErrorMetric::cosine) == Approx(0.25));
  CHECK(classes.value(ErrorMetric::top1) == 1);
  OutputError levels;
  add(levels, {Tensor::from<std::uint8_t>({100, 0}, Shape{2}).value()},
      {Tensor::from<std::uint8_t>({101, 0}, Shape{2}).value()});
  CHECK(levels.value(ErrorMetric::relative_rms) == Approx(0.01));
}

TEST_CASE("output error: outputs of other shapes are counted, not compared") {
  OutputError error;
  add(error, {values({1, 2})}, {values({1, 2, 3})});
  add(error, {values({1, 2})}, {values({1, 2})});
  CHECK(error.incomparable() == 1);
  CHECK(error.value(ErrorMetric::relative_rms) == 0);
  CHECK(error.value(ErrorMetric::top1) == 0.5);
}

TEST_CASE("output error: no error on twenty samples is not taken to be none on others") {
  OutputError error;
  for (int i = 0; i < 20; ++i) add(error, {values({1, 2})}, {values({1, 2})});
  CHECK(error.interval(ErrorMetric::top1).low == 0);
  CHECK(error.interval(ErrorMetric::top1).high == Approx(0.161).margin(1e-3));
  OutputError one;
  add(one, {values({1, 2})}, {values({1, 3})});
  CHECK(one.interval(ErrorMetric::relative_rms).high == one.value(ErrorMetric::relative_rms));
}

TEST_CASE("output error: 95 % intervals hold the true error in nine of ten draws of forty") {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  constexpr int kDraws = 200, kSamples = 40;
  constexpr double kTrue = 0.1;
  int held = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    OutputError error;
    for (int s = 0; s < kSamples; ++s) {
      std::vector<float> expected(8), actual(8);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = normal(random);
        actual[i] = expected[i] + static_cast<float>(kTrue) * normal(random);
      }
      add(error, {values(expected)}, {values(actual)});
    }
    const ErrorInterval interval = error.interval(ErrorMetric::relative_rms);
    held += interval.low <= kTrue && kTrue <= interval.high;
  }
  CHECK(held >= 0.9 * kDraws);
}
