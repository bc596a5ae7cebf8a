// Convolution in nhwc whose groups are at most a panel of channels wide, depthwise among them:
// vectors are channels, and a few output columns are made at once, so that what is loaded serves
// several. The inner loops, one variant per instruction set, and the routines around them.
#pragma once

#include "core/base/cpu.h"
#include "core/layers/window.h"
#include "core/routine/routine.h"

namespace softneuro {

// Channels are worked on in panels of so many; the last panel ends with the last channel and may
// overlap the one before.
inline constexpr std::int64_t kGroupPanel = 16;
// The most pointers that one block of columns may need, see group_tables_fit().
inline constexpr std::int64_t kGroupPointers = 1024;

// One row of the output of one image, or some panels of it.
struct GroupConvRow {
  WindowAxis y, x;
  std::int64_t channels = 0;    // >= kGroupPanel
  std::int64_t group = 1;       // channels of a group, input and output alike; divides kGroupPanel
  const void* input = nullptr;  // of the image
  const void* zeros = nullptr;  // `channels` of them
  // Panel after panel: for each kernel position and each input channel of the group, kGroupPanel
  // weights; kGroupPanel of bias (or null).
  const float* weights = nullptr;
  const float* bias = nullptr;
  void* output = nullptr;  // of the row
  // Of 16-bit types alone: given, results go there and not to the output, unrounded.
  float* floats = nullptr;
  std::int64_t row = 0;
  std::int64_t first_panel = 0, last_panel = 0;
  float low = 0, high = 0;  // results are clamped to; NaN stays
};

struct GroupConvOps {
  using Row = void (*)(const GroupConvRow&) noexcept;
  Row float32_row, float16_row, bfloat16_row;  // by the type of input and output

  Row row(DataType type) const noexcept {
    return type == DataType::float16    ? float16_row
           : type == DataType::bfloat16 ? bfloat16_row
                                        : float32_row;
  }
};
// The best variant for this processor, or for one with these features.
const GroupConvOps& group_conv_ops() noexcept;
const GroupConvOps& group_conv_ops(CpuFeatures features) noexcept;

constexpr std::int64_t group_panels(std::int64_t channels) noexcept {
  return (channels + kGroupPanel - 1) / kGroupPanel;
}
// First channel of a panel.
constexpr std::int64_t panel_channel(std::int64_t panel, std::int64_t channels) noexcept {
  const std::int64_t first = panel * kGroupPanel;
  return first + kGroupPanel <= channels ? first : channels - kGroupPanel;
}
// Whether the kernel is small enough for the tables of a row.
inline bool group_tables_fit(const WindowAxis& y, const WindowAxis& x) noexcept {
  return y.kernel <= kGroupPointers && x.extent() <= kGroupPointers &&
         y.kernel * x.extent() <= kGroupPointers;
}

// The routines of conv1 and conv2 cpu:<type>:nhwc/depthwise (one channel per group) and /grouped
// (2, 4, 8 or 16); type: float32, float16 or bfloat16, all float32 in registers. Rows of the output
// are made one after another; `channels` of them at a time (0: all), so that the rows of the input
// that a kernel meets can stay in the cache; `task_ops` multiply-adds make a task, at most.
std::unique_ptr<Routine> make_narrow_group_conv(std::string_view layer_type, DataType type,
                                                bool depthwise);

}  // namespace softneuro
