// The inner loops of depthwise convolution in nhwc, one variant per instruction set: vectors are
// channels, and a few output columns are made at once, so that what is loaded serves several.
#pragma once

#include "core/cpu.h"
#include "core/window.h"

namespace softneuro {

// Channels are worked on in panels of so many; the last panel ends with the last channel and may
// overlap the one before.
inline constexpr std::int64_t kDepthwisePanel = 16;
// The most pointers that one block of columns may need, see depthwise_fits().
inline constexpr std::int64_t kDepthwisePointers = 1024;

// One row of the output of one image, or some panels of it.
struct DepthwiseNhwcRow {
  WindowAxis y, x;
  std::int64_t channels = 0;     // >= kDepthwisePanel
  const float* input = nullptr;  // of the image
  const float* zeros = nullptr;  // `channels` of them
  // Panel after panel: kernel positions · kDepthwisePanel, and kDepthwisePanel of bias (or null).
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* output = nullptr;  // of the row
  std::int64_t row = 0;
  std::int64_t first_panel = 0, last_panel = 0;
  bool clamp = false;  // to [low, high]; NaN stays
  float low = 0, high = 0;
};

struct DepthwiseNhwcOps {
  void (*row)(const DepthwiseNhwcRow&) noexcept;
};
// The variant for this processor (current_isa()), or for a lower instruction set.
const DepthwiseNhwcOps& depthwise_nhwc_ops() noexcept;
const DepthwiseNhwcOps& depthwise_nhwc_ops(Isa isa) noexcept;

constexpr std::int64_t depthwise_panels(std::int64_t channels) noexcept {
  return (channels + kDepthwisePanel - 1) / kDepthwisePanel;
}
// First channel of a panel.
constexpr std::int64_t depthwise_channel(std::int64_t panel, std::int64_t channels) noexcept {
  const std::int64_t first = panel * kDepthwisePanel;
  return first + kDepthwisePanel <= channels ? first : channels - kDepthwisePanel;
}
// Whether the kernel is small enough for the tables of a row.
inline bool depthwise_fits(const WindowAxis& y, const WindowAxis& x) noexcept {
  return y.kernel <= kDepthwisePointers && x.extent() <= kDepthwisePointers &&
         y.kernel * x.extent() <= kDepthwisePointers;
}

}  // namespace softneuro
