#include "routines/max_pool2/pool_rows.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(PoolFunctions, kPoolFunctions, pool_functions)

namespace {

// Kernel positions k with low <= first + k·dilation < high.
std::int64_t met(const WindowAxis& axis, std::int64_t first, std::int64_t low, std::int64_t high) {
  const auto below = [&](std::int64_t bound) {  // positions before `bound`
    const std::int64_t room = bound - first;
    if (room <= 0) return std::int64_t{0};
    return std::min(axis.kernel, (room - 1) / axis.dilation + 1);
  };
  return std::max<std::int64_t>(below(high) - below(low), 0);
}

}  // namespace

PoolShares::PoolShares(const Window& window, bool count_padding) {
  constexpr std::int64_t kLongestVector = 16;
  for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
    const WindowAxis& axis = window.axes[a];
    // Outputs [alike, end) have their windows within the input.
    const std::int64_t room = axis.input + axis.pad_begin - axis.extent();
    const std::int64_t end = room < 0 ? 0 : std::min(room / axis.stride + 1, axis.output);
    alike[a] =
        std::clamp<std::int64_t>((axis.pad_begin + axis.stride - 1) / axis.stride, 0, axis.output);
    left_out[a] = std::max<std::int64_t>(end - alike[a] - kLongestVector, 0);
    const std::int64_t held = axis.output - left_out[a];
    addends[a].assign(static_cast<std::size_t>(held + kLongestVector), 1.0f);
    counts[a].assign(static_cast<std::size_t>(held + kLongestVector), 1.0f);
    for (std::int64_t i = 0; i < held; ++i) {
      const std::int64_t o = i <= alike[a] ? i : i + left_out[a];
      const std::int64_t first = o * axis.stride - axis.pad_begin;
      const std::int64_t inside = met(axis, first, 0, axis.input);
      const auto at = static_cast<std::size_t>(i);
      addends[a][at] = static_cast<float>(inside);
      // A window in ceil_mode may reach beyond the padding.
      counts[a][at] = static_cast<float>(
          count_padding ? met(axis, first, -axis.pad_begin, axis.input + axis.pad_end) : inside);
    }
  }
}

}  // namespace softneuro
