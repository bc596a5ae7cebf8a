// Sums of products of bytes at the ends of their range. Random numbers do not reach what saturates
// or rounds on the way: two products of unsigned and signed bytes are 64,770 at most, where 16 bits
// end at 32,767.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

// Numbers of [0, 1) that are the same in every run.
class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 40) / (1 << 24);
  }

 private:
  std::uint64_t state_ = 1;
};

// Three of four lie at an end of the range, the others between: their sums are of all sizes, so
// that few are halfway between two bytes, where rounding may go either way.
Fill ends_of_range(double low, double share_of_low) {
  constexpr int kPeriod = 4099;  // prime: rows and columns see different parts
  std::vector<double> values;
  Numbers numbers;
  for (int i = 0; i < kPeriod; ++i) {
    const double chance = numbers.next();
    const double between = low + (1 - low) * numbers.next();
    values.push_back(chance < 0.25 ? between : chance < 0.25 + 0.75 * share_of_low ? low : 1);
  }
  return explicit_values(std::move(values));
}

}  // namespace

void add_problems_bytes(ProblemSet& set) {
  const Fill bytes = ends_of_range(0, 0.1), weights = ends_of_range(-1, 0.2);
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t kernel,
                        std::int64_t group) -> Case& {
    const std::int64_t pad = kernel / 2;
    return set.add("conv2")
        .input({1, in, 9, 7}, bytes)
        .constant({out, in / group, kernel, kernel}, weights)
        .param("group", group)
        .param("pads", {pad, pad, pad, pad});
  };
  conv(64, 64, 1, 1);
  conv(72, 48, 1, 1).param("strides", {2, 2});
  conv(16, 64, 3, 1);
  conv(64, 64, 3, 1).param("strides", {2, 2});
  conv(3, 20, 3, 1);
  conv(64, 64, 3, 2);
  conv(64, 64, 3, 64);
  conv(20, 20, 5, 20);
  for (const std::int64_t rows : {1, 17})
    set.add("dense").input({rows, 200}, bytes).constant({200, 70}, weights);
}

}  // namespace softneuro::test
