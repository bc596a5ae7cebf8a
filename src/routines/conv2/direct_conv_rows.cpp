// ConvRows: where the rows of A lie in the input of a convolution.
#include <algorithm>

#include "routines/conv2/direct_conv.h"

namespace softneuro {
namespace {

// Below that many channels a whole row of the kernel is one segment: its positions lie side by
// side, and a tile's inner loop gets longer. Above, the loop is long enough, and segments that
// stick out at a border need not be copied.
constexpr std::int64_t kMergedChannels = 16;

bool can_merge(const ConvGeometry& g, Layout layout) {
  const auto& [z, y, x] = g.window.axes;
  return layout == Layout::channels_last && g.group == 1 && x.kernel > 1 && x.dilation == 1 &&
         g.in < kMergedChannels &&
         kTileMaxRows * z.kernel * y.kernel * x.kernel * g.in <= kSweepScratchFloats;
}

bool is_padded(const WindowAxis& axis) {
  return axis.pad_begin > 0 ||
         (axis.output - 1) * axis.stride + axis.extent() - axis.pad_begin > axis.input;
}

}  // namespace

ConvRows::ConvRows(const ConvGeometry& g, Layout layout) : window_(g.window) {
  const auto& [az, ay, ax] = window_.axes;
  const std::int64_t block = block_of(layout);
  const std::int64_t blocks = block == 1 ? 1 : (g.in + block - 1) / block;
  merged_ = can_merge(g, layout);
  pixel_ = block == 1 ? g.channels_in() : block;
  length_ = merged_ ? ax.kernel * g.in : block == 1 ? g.in : block;
  padded_ = is_padded(az) || is_padded(ay) || is_padded(ax);
  contiguous_ = window_.is_pointwise();
  const std::int64_t plane = window_.input_elements() * block;
  for (std::int64_t kz = 0; kz < az.kernel; ++kz)
    for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
      for (std::int64_t kx = 0; kx < (merged_ ? 1 : ax.kernel); ++kx)
        for (std::int64_t b = 0; b < blocks; ++b) {
          ConvSegment s{kz * az.dilation, ky * ay.dilation, kx * ax.dilation, 0};
          s.offset = ((s.z * ay.input + s.y) * ax.input + s.x) * pixel_ + b * plane;
          segments_.push_back(s);
        }
}

ConvRows::Origin ConvRows::origin(std::int64_t row) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  Origin at;
  at.x = row % ax.output * ax.stride - ax.pad_begin;
  at.y = row / ax.output % ay.output * ay.stride - ay.pad_begin;
  at.z = row / ax.output / ay.output * az.stride - az.pad_begin;
  at.offset = ((at.z * ay.input + at.y) * ax.input + at.x) * pixel_;
  return at;
}

bool ConvRows::is_inside(const Origin& at) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  return at.z >= 0 && at.z + az.extent() <= az.input && at.y >= 0 &&
         at.y + ay.extent() <= ay.input && at.x >= 0 && at.x + ax.extent() <= ax.input;
}

// A segment of a window that sticks out of the input.
const float* ConvRows::border_pointer(const ConvSegment& segment, const Origin& at, const float* x,
                                      const float* zeros, float*& scratch) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  const std::int64_t iz = at.z + segment.z, iy = at.y + segment.y, ix = at.x + segment.x;
  if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input) return zeros;
  const float* const from = x + at.offset + segment.offset;
  if (!merged_) return ix < 0 || ix >= ax.input ? zeros : from;
  if (ix >= 0 && ix + ax.kernel <= ax.input) return from;
  float* const patch = scratch;
  scratch += length_;
  const std::int64_t first = std::clamp<std::int64_t>(-ix, 0, ax.kernel) * pixel_;
  const std::int64_t last =
      std::clamp<std::int64_t>(ax.input - ix, first / pixel_, ax.kernel) * pixel_;
  std::fill(patch, patch + first, 0.0f);
  std::copy(from + first, from + last, patch + first);
  std::fill(patch + last, patch + length_, 0.0f);
  return patch;
}

// The next output pixel of the row, or the first of the next row.
void ConvRows::advance(Origin& at) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  at.x += ax.stride;
  at.offset += ax.stride * pixel_;
  if (at.x < ax.output * ax.stride - ax.pad_begin) return;
  at.x = -ax.pad_begin;
  at.y += ay.stride;
  if (at.y >= ay.output * ay.stride - ay.pad_begin) {
    at.y = -ay.pad_begin;
    at.z += az.stride;
  }
  at.offset = ((at.z * ay.input + at.y) * ax.input + at.x) * pixel_;
}

void ConvRows::point(const SweepRows& rows, const float* x, const float* zeros,
                     const float** pointers, float* scratch) const noexcept {
  const ConvSegment* const segments = segments_.data() + rows.segment;
  if (contiguous_) {
    for (std::int64_t s = 0; s < rows.segments; ++s) {
      const float* from = x + rows.row * pixel_ + segments[s].offset;
      for (int r = 0; r < rows.rows; ++r, from += pixel_) *pointers++ = from;
    }
    return;
  }
  Origin at = origin(rows.row);
  for (int r = 0; r < rows.rows; ++r, advance(at)) {
    const float** to = pointers + r;
    if (!padded_ || is_inside(at)) {
      const float* const from = x + at.offset;
      for (std::int64_t s = 0; s < rows.segments; ++s, to += rows.rows)
        *to = from + segments[s].offset;
    } else {
      for (std::int64_t s = 0; s < rows.segments; ++s, to += rows.rows)
        *to = border_pointer(segments[s], at, x, zeros, scratch);
    }
  }
}

}  // namespace softneuro
