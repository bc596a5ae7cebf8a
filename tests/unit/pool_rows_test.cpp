// The inner loops of pooling on every instruction set that this processor has.
#include "routines/max_pool2/pool_rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/isa_variants.h"

namespace softneuro {
namespace {

// The larger of each two rows of channels, for every number of 16 bits beside another one.
template <class T>
void check_pairs(DataType type, std::int64_t channels, const PoolFunctions& functions) {
  constexpr std::int64_t kPatterns = 1 << 16;
  const std::int64_t outputs = kPatterns / channels;
  Window window;
  window.axes[2] = {.input = 2 * outputs, .kernel = 2, .stride = 2, .output = outputs};
  std::vector<T> x(static_cast<std::size_t>(2 * outputs * channels));
  std::vector<T> y(static_cast<std::size_t>(outputs * channels));
  const auto place = [&](std::int64_t o, std::int64_t tap, std::int64_t c) {
    return static_cast<std::size_t>((2 * o + tap) * channels + c);
  };
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto pattern = static_cast<std::uint16_t>(o * channels + c);
      x[place(o, 0, c)] = T{pattern};
      x[place(o, 1, c)] = T{static_cast<std::uint16_t>(pattern * 40503u)};  // any other order
    }
  PoolRows rows;
  rows.window = &window;
  rows.input = x.data();
  rows.output = y.data();
  rows.last = 1;
  rows.inner = channels;
  rows.type = type;
  functions.max(rows);
  int wrong = 0;
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float a = to_float(x[place(o, 0, c)]), b = to_float(x[place(o, 1, c)]);
      const float largest = to_float(y[static_cast<std::size_t>(o * channels + c)]);
      if (std::isnan(a) || std::isnan(b))
        wrong += !std::isnan(largest);
      else
        wrong += largest != std::fmax(a, b);
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE(
    "pool: maxima of 16 bits are those of the numbers, infinite and NaN of either sign, too") {
  // Fewer than a vector, one vector and several, with a rest.
  const std::int64_t channels = GENERATE(4, 8, 16, 32, 64, 100, 256);
  for (const IsaSet& set : kIsaSets) {
    if (!set.is_variant || !usable_features().has(set.needs)) continue;
    INFO(channels << " channels, " << set.name);
    check_pairs<Half>(DataType::float16, channels, pool_functions(set.needs));
    check_pairs<BFloat16>(DataType::bfloat16, channels, pool_functions(set.needs));
  }
}

}  // namespace softneuro
