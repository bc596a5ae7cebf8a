#include "routines/max_pool2/pool_rows.h"

#include <algorithm>

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(PoolFunctions, kPoolFunctions, pool_functions)

PoolShares::PoolShares(const Window& window, bool count_padding) {
  constexpr std::size_t kLongestVector = 16;
  // Kernel positions k with low <= first + k·dilation < high.
  const auto met = [](const WindowAxis& axis, std::int64_t first, std::int64_t low,
                      std::int64_t high) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t i = first + k * axis.dilation;
      count += i >= low && i < high;
    }
    return static_cast<float>(count);
  };
  for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
    const WindowAxis& axis = window.axes[a];
    const auto outputs = static_cast<std::size_t>(axis.output);
    addends[a].assign(outputs + kLongestVector, 1.0f);
    counts[a].assign(outputs + kLongestVector, 1.0f);
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::int64_t first = static_cast<std::int64_t>(o) * axis.stride - axis.pad_begin;
      addends[a][o] = met(axis, first, 0, axis.input);
      // A window in ceil_mode may reach beyond the padding.
      counts[a][o] = count_padding ? met(axis, first, -axis.pad_begin, axis.input + axis.pad_end)
                                   : addends[a][o];
    }
  }
}

}  // namespace softneuro
