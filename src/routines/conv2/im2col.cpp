#include "routines/conv2/im2col.h"

#include <algorithm>

namespace softneuro {
namespace {

// Columns of a panel whose outputs are adjacent in one row.
struct Run {
  std::int64_t first = 0, count = 0;  // columns
  std::int64_t z = 0, y = 0, x = 0;   // where their inputs begin, before the kernel's offset
};

struct Runs {
  Run runs[kGemmColumns];
  int count = 0;
};

Runs runs_of(const Window& window, std::int64_t panel) noexcept {
  const auto& [az, ay, ax] = window.axes;
  Runs result;
  std::int64_t position = panel * kGemmColumns;
  const std::int64_t end = std::min(position + kGemmColumns, window.output_elements());
  for (std::int64_t column = 0; position < end;) {
    const std::int64_t x = position % ax.output;
    const std::int64_t y = position / ax.output % ay.output;
    const std::int64_t z = position / ax.output / ay.output;
    Run& run = result.runs[result.count++];
    run.first = column;
    run.count = std::min(ax.output - x, end - position);
    run.z = z * az.stride - az.pad_begin;
    run.y = y * ay.stride - ay.pad_begin;
    run.x = x * ax.stride - ax.pad_begin;
    column += run.count;
    position += run.count;
  }
  return result;
}

// to[i] = row[x + i·stride] for i < count, zero outside of [0, width).
void copy_row(const float* row, std::int64_t width, std::int64_t x, std::int64_t stride,
              std::int64_t count, float* to) noexcept {
  if (stride == 1) {
    if (x >= 0 && x + kGemmColumns <= width && count == kGemmColumns) {
      std::copy_n(row + x, kGemmColumns, to);
      return;
    }
    const std::int64_t low = std::clamp<std::int64_t>(-x, 0, count);
    const std::int64_t high = std::clamp<std::int64_t>(width - x, low, count);
    std::fill(to, to + low, 0.0f);
    std::copy(row + x + low, row + x + high, to + low);
    std::fill(to + high, to + count, 0.0f);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, x += stride) to[i] = x >= 0 && x < width ? row[x] : 0;
}

void pack_pointwise(const float* x, std::int64_t plane, std::int64_t channels, std::int64_t panel,
                    float* packed) noexcept {
  const std::int64_t first = panel * kGemmColumns;
  pack_b({x + first, plane, 1}, channels, std::min(kGemmColumns, plane - first), packed);
}

}  // namespace

void pack_patches(const Window& window, std::int64_t channels, const float* x, std::int64_t panel,
                  float* packed) noexcept {
  const auto& [az, ay, ax] = window.axes;
  const std::int64_t plane = window.input_elements();
  if (window.is_pointwise()) return pack_pointwise(x, plane, channels, panel, packed);
  const Runs runs = runs_of(window, panel);
  const Run& last = runs.runs[runs.count - 1];
  const std::int64_t used = last.first + last.count;
  for (std::int64_t c = 0; c < channels; ++c, x += plane)
    for (std::int64_t kz = 0; kz < az.kernel; ++kz)
      for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
        for (std::int64_t kx = 0; kx < ax.kernel; ++kx, packed += kGemmColumns) {
          for (int r = 0; r < runs.count; ++r) {
            const Run& run = runs.runs[r];
            const std::int64_t iz = run.z + kz * az.dilation;
            const std::int64_t iy = run.y + ky * ay.dilation;
            if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input)
              std::fill_n(packed + run.first, run.count, 0.0f);
            else
              copy_row(x + (iz * ay.input + iy) * ax.input, ax.input, run.x + kx * ax.dilation,
                       ax.stride, run.count, packed + run.first);
          }
          std::fill(packed + used, packed + kGemmColumns, 0.0f);
        }
}

}  // namespace softneuro
