// Convolution in nhwc whose groups are at most a panel of channels wide, depthwise among them:
// vectors are channels, and a few output columns are made at once, so that what is loaded serves
// several. The inner loops, one variant per instruction set, and the routines around them.
#pragma once

#include "core/base/cpu.h"
#include "core/layers/window.h"
#include "core/routine/routine.h"

namespace softneuro {

class Registry;

// Channels are worked on in panels of so many, or as many as a code says; the last panel ends with
// the last channel and may overlap the one before.
inline constexpr std::int64_t kGroupPanel = 16;
// The most pointers that one block of columns may need, see group_tables_fit().
inline constexpr std::int64_t kGroupPointers = 1024;

// One row of the output of one image, or some panels of it. It has many fields because one call of
// an inner loop reads them all.
struct GroupConvRow {
  WindowAxis y, x;
  std::int64_t channels = 0;    // a panel at least
  std::int64_t group = 1;       // channels of a group, input and output alike; divides kGroupPanel
  const void* input = nullptr;  // of the image
  const void* zeros = nullptr;  // `channels` of them
  const void* weights = nullptr;  // panel after panel, as the code packs them
  const float* bias = nullptr;    // (or null)
  void* output = nullptr;         // of the row
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

// First channel of a panel.
constexpr std::int64_t panel_channel(std::int64_t panel, std::int64_t channels,
                                     std::int64_t width = kGroupPanel) noexcept {
  const std::int64_t first = panel * width;
  return first + width <= channels ? first : channels - width;
}

// An inner loop, and how it wants weights and bias.
struct GroupConvCode {
  const char* algorithm = nullptr;  // the routine's
  GroupConvOps::Row row = nullptr;  // null: not in this build
  std::int64_t panel = kGroupPanel;
  CpuFeatures needs = {};
  // Whether it knows such kernels; null: all.
  bool (*takes)(const WindowAxis& y, const WindowAxis& x) noexcept = nullptr;
  // Bytes of a panel's weights, and one panel from [channel][input of its group][row][column].
  std::int64_t (*panel_bytes)(std::int64_t group, std::int64_t rows,
                              std::int64_t columns) noexcept = nullptr;
  void (*pack)(const float* from, std::int64_t group, std::int64_t rows, std::int64_t columns,
               void* to) noexcept = nullptr;
  void (*pack_bias)(const float* from, float* to) noexcept = nullptr;
};
// Whether the kernel is small enough for the tables of a row.
inline bool group_tables_fit(const WindowAxis& y, const WindowAxis& x) noexcept {
  return y.kernel <= kGroupPointers && x.extent() <= kGroupPointers &&
         y.kernel * x.extent() <= kGroupPointers;
}

// The code of *.isa.cpp: /depthwise (one channel per group) and /grouped (2, 4, 8 or 16), all
// float32 in registers.
GroupConvCode group_conv_code(DataType type, bool depthwise) noexcept;

// Adds the routines of conv1 and conv2 cpu:<type>:nhwc/<algorithm>; type: float32, float16 or
// bfloat16. None where this build does not have the code.
// Rows of the output are made one after another; `channels` of them at a time (0: all), so that the
// rows of the input that a kernel meets can stay in the cache; `task_ops` multiply-adds make a
// task, at most.
Status add_narrow_group_convs(Registry& registry, DataType type, bool depthwise,
                              const GroupConvCode& code);

}  // namespace softneuro
