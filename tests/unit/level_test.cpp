// Rounding to 8 bits: half to even, then the zero point, in every instruction set.
#include "core/base/level.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/isa_variants.h"
#include "cpu/simd/qint8_rows.h"
#include "cpu/simd/quantize_rows.h"
#include "routines/max_pool2/pool_rows.h"
#include "routines/resize/mix.h"

namespace softneuro {
namespace {

constexpr std::int32_t kOdd = 3;
constexpr std::size_t kCount = 67;  // whole vectors and a rest

std::vector<IsaSet> usable_variants() {
  std::vector<IsaSet> variants;
  for (const IsaSet& set : kIsaSets)
    if (set.is_variant && usable_features().has(set.needs)) variants.push_back(set);
  return variants;
}

std::vector<std::uint8_t> counted() {
  std::vector<std::uint8_t> bytes(kCount);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

// What 0, ½, 1, 1½… become.
std::vector<std::uint8_t> halves_rounded() {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < kCount; ++i)
    bytes.push_back(static_cast<std::uint8_t>(std::nearbyint(0.5 * static_cast<double>(i)) + kOdd));
  return bytes;
}

}  // namespace

TEST_CASE("levels: of one number", "[level]") {
  constexpr LevelRange kBytes = levels_of<std::int8_t>();
  CHECK(level_of(0.5f, kBytes, 1) == 1);
  CHECK(level_of(1.5f, kBytes, 1) == 3);
  CHECK(level_of(-0.5f, kBytes, -1) == -1);
  CHECK(level_of(1e30f, kBytes, 5) == 127);
  CHECK(level_of(-INFINITY, kBytes, 5) == -128);
  CHECK(level_of(NAN, kBytes, 5) == -128);
  CHECK(level_of(70000, levels_of(DataType::uint16), 1) == 65535);
}

TEST_CASE("levels: ties are even before an odd zero point is added", "[level]") {
  const std::vector<std::uint8_t> x = counted(), zeros(kCount), expected = halves_rounded();
  const auto count = static_cast<std::int64_t>(kCount);
  const float scale = 2;
  for (const IsaSet& set : usable_variants()) {
    INFO(set.name);
    std::vector<std::uint8_t> y(kCount);
    const Quantization one{false, -1, {1}, {0}, {}}, two{false, -1, {scale}, {kOdd}, {}};
    const Qint8Rows& rows = qint8_rows(set.needs);
    rows.combine(Qint8Form::sum(one, one, two, 1), x.data(), 1, zeros.data(), 1, y.data(), count);
    CHECK(y == expected);
    const std::vector<float> reals(x.begin(), x.end());
    rows.quantize(reals.data(), y.data(), count, scale_of(two));
    CHECK(y == expected);
    quantize_rows(set.needs).quantize(DataType::uint8, reals.data(), y.data(),
                                      {&scale, &kOdd, false, count});
    CHECK(y == expected);

    // The mean of each number and a zero.
    const std::int64_t offsets[] = {0, count};
    const float weights[] = {0.5f, 0.5f};
    std::vector<std::uint8_t> both = x;
    both.insert(both.end(), zeros.begin(), zeros.end());
    WeightedRuns runs = {both.data(), offsets, weights, 2, count};
    runs.zero_point = kOdd;
    resize_mix(set.needs).mix(DataType::uint8, runs, DataType::uint8, y.data());
    CHECK(y == expected);

    Window window;
    window.axes[1] = {.input = 2, .kernel = 2};
    const PoolShares shares(window, false);
    PoolRows task;
    task.window = &window;
    task.shares = &shares;
    task.input = both.data();
    task.output = y.data();
    task.last = 1;
    task.inner = count;
    task.type = DataType::uint8;
    task.to_zero_point = kOdd;
    pool_functions(set.needs).mean(task);
    CHECK(y == expected);
  }
}

}  // namespace softneuro
