// What tuning says about the error of samples that it has not seen.
#include "profiler/tune/error_bound.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace softneuro;

namespace {

// As of a classifier: most samples lose next to nothing, one in `one_in` a lot, each its own lot.
std::vector<SampleError> draw(std::mt19937& random, std::size_t count, int one_in) {
  std::normal_distribution<double> normal;
  std::vector<SampleError> samples;
  for (std::size_t s = 0; s < count; ++s) {
    const bool is_harmed = random() % static_cast<unsigned>(one_in) == 0;
    const double error = (is_harmed ? 0.05 : 0.0005) * normal(random);
    samples.push_back(
        {.reference = 0.8 + 0.4 * std::abs(normal(random)), .difference = error * error});
  }
  return samples;
}

// How often as many others have a larger error than the samples' own, `upper_bound_factor` times as
// large.
double broken_share(std::size_t count, int one_in) {
  constexpr int kDraws = 1000;
  std::mt19937 random(7);
  int broken = 0;
  for (int d = 0; d < kDraws; ++d) {
    const ErrorParts given = parts_of(draw(random, count, one_in));
    const ErrorParts others = parts_of(draw(random, count, one_in));
    broken += others.square() > given.square() * upper_bound_factor(given);
  }
  return static_cast<double>(broken) / kDraws;
}

}  // namespace

TEST_CASE("error bound: parts of a squared error add up to it") {
  const ErrorParts parts = parts_of({{3, 0.1}, {1, 0.3}, {0, 0}});
  CHECK(parts.square() == Approx(0.1));
  CHECK(parts.weight == std::vector<double>{0.75, 0.25, 0});
  CHECK(parts.error[1] == Approx(0.075));
  CHECK(parts_of({{0, 0}, {0, 0}}).square() == 0);
}

TEST_CASE("error bound: an error without a reference, or without a number, is infinite") {
  CHECK(std::isinf(parts_of({{0, 1e-9}}).square()));
  const ErrorParts parts = parts_of({{1, 0.5}, {1, NAN}, {1, INFINITY}});
  CHECK(std::isinf(parts.square()));
  CHECK(std::isfinite(parts.error[0]));  // whose fault it is not
  CHECK(upper_bound_factor(parts) == 1);
}

TEST_CASE(
    "error bound: the factor is 1 for errors like the reference and kMaxFactor for a single one") {
  CHECK(upper_bound_factor(parts_of({{1, 0.1}, {2, 0.2}, {3, 0.3}})) == Approx(1));
  CHECK(upper_bound_factor(parts_of({{1, 0.1}})) == 1);
  CHECK(upper_bound_factor(parts_of({{1, 0}, {1, 0}})) == 1);
  std::vector<SampleError> one(100, {1, 0});
  one[17].difference = 1e-6;
  CHECK(upper_bound_factor(parts_of(one)) == Approx(kMaxFactor));
  CHECK(effective_sample_size(parts_of(one)) == Approx(1));
  CHECK(effective_sample_size(parts_of({{1, 0.1}, {1, 0.1}, {1, 0}})) == Approx(2));
  CHECK(effective_sample_size(parts_of({{1, 0}})) == 0);
}

TEST_CASE("error bound: more samples of the same kind give a smaller factor") {
  double last = kMaxFactor;
  for (const std::size_t repeated : {2, 4, 8, 16, 32}) {
    std::vector<SampleError> samples;
    for (std::size_t r = 0; r < repeated; ++r)
      for (const double difference : {0.1, 0.2, 0.0, 0.4}) samples.push_back({1, difference});
    const double scatter = upper_bound_factor(parts_of(samples));
    CHECK(scatter < last);
    CHECK(scatter > 1);
    last = scatter;
  }
}

// What is so rare that the samples have none of it cannot be known: at least five of them are
// harmed on average.
TEST_CASE("error bound: other samples keep it in 39 of 40 cases, few and large errors included") {
  for (const auto& [count, one_in] :
       {std::pair<std::size_t, int>{20, 1}, {20, 4}, {100, 1}, {100, 5}, {100, 20}, {400, 80}}) {
    INFO(count << " samples, one in " << one_in << " is harmed");
    CHECK(broken_share(count, one_in) < 0.04);  // 0.025, and the draws' own scatter
  }
}
