#include "routines/conv2/conv_rows.h"

#include <algorithm>

namespace softneuro {
namespace {

bool is_padded(const WindowAxis& axis) {
  return axis.pad_begin > 0 ||
         (axis.output - 1) * axis.stride + axis.extent() - axis.pad_begin > axis.input;
}

// Below that many channels a whole row of the kernel is one segment: its positions are side by
// side, and a tile's inner loop gets longer. Above, the loop is long enough, and segments that
// stick out at a border need not be copied.
constexpr std::int64_t kMergedChannels = 16;

bool can_merge(const ConvGeometry& g, Layout layout) {
  const auto& [z, y, x] = g.window.axes;
  const std::int64_t window = z.kernel * y.kernel * x.kernel * g.in;
  return layout == Layout::channels_last && g.group == 1 && x.kernel > 1 && x.dilation == 1 &&
         g.in < kMergedChannels && (!is_padded(x) || kTileMaxRows * window <= kGemmScratchFloats);
}

}  // namespace

ConvRows::ConvRows(const ConvGeometry& g, Layout layout)
    : ConvRows(g, layout, can_merge(g, layout)) {}

ConvRows ConvRows::of_bytes(const ConvGeometry& g) {
  return {g, Layout::channels_last, false};
}

ConvRows::ConvRows(const ConvGeometry& g, Layout layout, bool merged)
    : window_(g.window), merged_(merged) {
  const auto& [az, ay, ax] = window_.axes;
  const std::int64_t block = block_of(layout);
  const std::int64_t blocks = block == 1 ? 1 : (g.in + block - 1) / block;
  pixel_ = block == 1 ? g.channels_in() : block;
  length_ = merged_ ? ax.kernel * g.in : block == 1 ? g.in : block;
  padded_ = is_padded(az) || is_padded(ay) || is_padded(ax);
  contiguous_ = window_.is_pointwise();
  const std::int64_t room = ax.input + ax.pad_begin - ax.extent();
  inside_end_ = room < 0 ? 0 : std::min(room / ax.stride + 1, ax.output);
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
  at.column = row % ax.output;
  at.y = row / ax.output % ay.output * ay.stride - ay.pad_begin;
  at.z = row / ax.output / ay.output * az.stride - az.pad_begin;
  place(at);
  return at;
}

void ConvRows::place(Origin& at) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  at.x = at.column * ax.stride - ax.pad_begin;
  at.offset = ((at.z * ay.input + at.y) * ax.input + at.x) * pixel_;
}

// `count` output pixels further on, in the same row or at the beginning of the next.
void ConvRows::advance(Origin& at, std::int64_t count) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  at.column += count;
  if (at.column == ax.output) {
    at.column = 0;
    at.y += ay.stride;
    if (at.y >= ay.output * ay.stride - ay.pad_begin) {
      at.y = -ay.pad_begin;
      at.z += az.stride;
    }
  }
  place(at);
}

// How many output pixels from `at` on, in the same row, have their window in the input.
std::int64_t ConvRows::pixels_inside(const Origin& at) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  const bool inside = at.z >= 0 && at.z + az.extent() <= az.input && at.y >= 0 &&
                      at.y + ay.extent() <= ay.input && at.x >= 0;
  return inside ? inside_end_ - at.column : 0;
}

// A segment of a window that sticks out of the input.
template <class T>
const T* ConvRows::border_pointer(const ConvSegment& segment, const Origin& at, const T* x,
                                  const T* zeros, T*& scratch) const noexcept {
  const auto& [az, ay, ax] = window_.axes;
  const std::int64_t iz = at.z + segment.z, iy = at.y + segment.y, ix = at.x + segment.x;
  if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input) return zeros;
  const T* const from = x + at.offset + segment.offset;
  if (!merged_) return ix < 0 || ix >= ax.input ? zeros : from;
  if (ix >= 0 && ix + ax.kernel <= ax.input) return from;
  T* const patch = scratch;
  scratch += length_;
  const std::int64_t first = std::clamp<std::int64_t>(-ix, 0, ax.kernel) * pixel_;
  const std::int64_t last =
      std::clamp<std::int64_t>(ax.input - ix, first / pixel_, ax.kernel) * pixel_;
  std::fill(patch, patch + first, T{});
  std::copy(from + first, from + last, patch + first);
  std::fill(patch + last, patch + length_, T{});
  return patch;
}

// Rows of one image.
template <class T>
void ConvRows::point_segments(const ConvSegment* segments, std::int64_t count, std::int64_t row,
                              std::int64_t rows, const T* x, const T* zeros, const Pointers<T>& to,
                              T* scratch) const noexcept {
  if (contiguous_) {
    for (std::int64_t s = 0; s < count; ++s) {
      const T** pointer = to.first + s * to.segment_stride;
      const T* from = x + row * pixel_ + segments[s].offset;
      for (std::int64_t r = 0; r < rows; ++r, from += pixel_, pointer += to.row_stride)
        *pointer = from;
    }
    return;
  }
  Origin at = origin(row);
  const std::int64_t step = window_.axes[2].stride * pixel_;
  for (std::int64_t r = 0; r < rows;) {
    const std::int64_t run = std::min(pixels_inside(at), rows - r);
    for (std::int64_t s = 0; s < count; ++s) {
      const T** pointer = to.first + s * to.segment_stride + r * to.row_stride;
      const T* from = x + at.offset + segments[s].offset;
      for (std::int64_t i = 0; i < run; ++i, from += step, pointer += to.row_stride)
        *pointer = from;
      if (run <= 0) *pointer = border_pointer(segments[s], at, x, zeros, scratch);
    }
    const std::int64_t done = std::max<std::int64_t>(run, 1);
    advance(at, done);
    r += done;
  }
}

template <class T>
void ConvRows::point(const GemmRows& rows, const T* x, const T* zeros, const T** pointers,
                     T* scratch) const noexcept {
  point_segments(segments_.data() + rows.segment, rows.segments, rows.row, rows.rows, x, zeros,
                 Pointers<T>{pointers, rows.rows, 1}, scratch);
}

void ConvRows::point_bytes(std::int64_t row, std::int64_t rows, const std::uint8_t* x,
                           const std::uint8_t* zeros, const std::uint8_t** pointers,
                           std::int64_t segment_stride, std::int64_t row_stride) const noexcept {
  const std::int64_t positions = window_.output_elements();
  x += row / positions * window_.input_elements() * pixel_;
  row %= positions;
  while (rows > 0) {
    const std::int64_t count = std::min(rows, positions - row);
    point_segments(segments_.data(), segments(), row, count, x, zeros,
                   Pointers<std::uint8_t>{pointers, segment_stride, row_stride},
                   static_cast<std::uint8_t*>(nullptr));
    x += window_.input_elements() * pixel_;
    pointers += count * row_stride;
    rows -= count;
    row = 0;
  }
}

template void ConvRows::point(const GemmRows&, const float*, const float*, const float**,
                              float*) const noexcept;
template void ConvRows::point(const GemmRows&, const Half*, const Half*, const Half**,
                              Half*) const noexcept;
template void ConvRows::point(const GemmRows&, const BFloat16*, const BFloat16*, const BFloat16**,
                              BFloat16*) const noexcept;

}  // namespace softneuro
