#include "plugins/partition/resize_positions.h"

#include <algorithm>
#include <cmath>

namespace softneuro {
namespace {

// The share that element `at` has in output y.
double share_of(const ResizeTaps& taps, std::int64_t y, std::int64_t at) {
  double share = 0;
  for (std::int64_t k = 0; k < taps.per_output; ++k) {
    const auto tap = static_cast<std::size_t>(y * taps.per_output + k);
    if (taps.index[tap] == at) share += taps.weight[tap];
  }
  return share;
}

}  // namespace

bool interpolates_at(const ResizeTaps& taps, std::int64_t outputs, std::int64_t inputs,
                     const std::function<double(std::int64_t)>& position) {
  constexpr double kRounding = 1e-6;  // of a weight
  if (!taps.outside.empty()) return false;
  for (std::int64_t y = 0; y < outputs; ++y) {
    const double at = std::clamp(position(y), 0.0, static_cast<double>(inputs - 1));
    const auto left = static_cast<std::int64_t>(at);
    const std::int64_t right = std::min(left + 1, inputs - 1);
    const double right_share = at - std::floor(at);
    const double left_share = left == right ? 1 : 1 - right_share;
    if (std::fabs(share_of(taps, y, left) - left_share) > kRounding) return false;
    if (left != right && std::fabs(share_of(taps, y, right) - right_share) > kRounding)
      return false;
  }
  return true;
}

}  // namespace softneuro
