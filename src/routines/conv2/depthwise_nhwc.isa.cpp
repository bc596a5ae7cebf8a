#include "routines/conv2/depthwise_nhwc.h"

#include "core/vector.h"

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would leave the sums in memory.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// Output columns that are made at once: their sums and a row of weights stay in registers.
#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int kColumns = 8;
#else
constexpr int kColumns = 6;
#endif

// The input that a block of output columns sees: a pointer for each row of the kernel and each
// column, to a pixel's channels or to zeros.
struct Columns {
  const DepthwiseNhwcRow& task;
  const float* const* pixels;
  std::int64_t width;            // columns of a row of pixels
  std::int64_t first_row, rows;  // of the kernel: those that meet the input
  float* output;
};

template <int Count>
SN_INLINE void finish(const DepthwiseNhwcRow& task, FloatV (&sums)[Count], float* output) {
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    if (task.clamp) sums[i] = clamp(sums[i], task.low, task.high);
    store(output + i * task.channels, sums[i]);
  }
}

template <int Count>
SN_INLINE void begin(FloatV (&sums)[Count], const float* bias, std::int64_t at) {
  const FloatV first = bias != nullptr ? load(bias + at) : FloatV{};
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) sums[i] = first;
}

// Calls vector(channel, place in the panel's bias, place in its weights) for each vector.
template <class Vector>
SN_INLINE void for_vectors(const DepthwiseNhwcRow& task, Vector&& vector) {
  const std::int64_t panel_weights = task.y.kernel * task.x.kernel * kDepthwisePanel;
  for (std::int64_t p = task.first_panel; p < task.last_panel; ++p) {
    const std::int64_t channel = depthwise_channel(p, task.channels);
    for (std::int64_t lane = 0; lane < kDepthwisePanel; lane += kLanes)
      vector(channel + lane, p * kDepthwisePanel + lane, task.weights + p * panel_weights + lane);
  }
}

// `Count` columns of a kernel that is `Width` wide, without dilation along x.
template <int Width, int Stride, int Count>
void unrolled(const Columns& c) noexcept {
  constexpr int kInputs = (Count - 1) * Stride + Width;
  for_vectors(
      c.task, [&](std::int64_t channel, std::int64_t at, const float* weights)
                  __attribute__((always_inline)) {
                    FloatV sums[Count];
                    begin(sums, c.task.bias, at);
                    weights += c.first_row * Width * kDepthwisePanel;
                    const float* const* pixels = c.pixels;
                    for (std::int64_t r = 0; r < c.rows; ++r) {
                      FloatV w[Width];
#pragma GCC unroll 8
                      for (int k = 0; k < Width; ++k) w[k] = load(weights + k * kDepthwisePanel);
#pragma GCC unroll 24
                      for (int i = 0; i < kInputs; ++i) {
                        const FloatV x = load(pixels[i] + channel);
#pragma GCC unroll 8
                        for (int k = 0; k < Width; ++k)
                          if (i >= k && (i - k) % Stride == 0 && (i - k) / Stride < Count)
                            sums[(i - k) / Stride] += x * w[k];
                      }
                      pixels += c.width;
                      weights += Width * kDepthwisePanel;
                    }
                    finish(c.task, sums, c.output + channel);
                  });
}

// Any kernel.
template <int Count>
void general(const Columns& c) noexcept {
  const WindowAxis& ax = c.task.x;
  for_vectors(
      c.task, [&](std::int64_t channel, std::int64_t at, const float* weights)
                  __attribute__((always_inline)) {
                    FloatV sums[Count];
                    begin(sums, c.task.bias, at);
                    weights += c.first_row * ax.kernel * kDepthwisePanel;
                    for (std::int64_t r = 0; r < c.rows; ++r)
                      for (std::int64_t k = 0; k < ax.kernel; ++k, weights += kDepthwisePanel) {
                        const FloatV w = load(weights);
                        const float* const* pixels = c.pixels + r * c.width + k * ax.dilation;
#pragma GCC unroll 8
                        for (int i = 0; i < Count; ++i, pixels += ax.stride)
                          sums[i] += load(*pixels + channel) * w;
                      }
                    finish(c.task, sums, c.output + channel);
                  });
}

using ColumnsFunction = void (*)(const Columns&) noexcept;

template <int Width, int Stride>
ColumnsFunction unrolled_function(std::int64_t count) noexcept {
  constexpr ColumnsFunction kByCount[] = {unrolled<Width, Stride, 1>, unrolled<Width, Stride, 2>,
                                          unrolled<Width, Stride, 3>, unrolled<Width, Stride, 4>,
                                          unrolled<Width, Stride, 5>, unrolled<Width, Stride, 6>,
                                          unrolled<Width, Stride, 7>, unrolled<Width, Stride, 8>};
  return kByCount[count - 1];
}

ColumnsFunction columns_function(const WindowAxis& x, std::int64_t count) noexcept {
  constexpr ColumnsFunction kGeneral[] = {general<1>, general<2>, general<3>, general<4>,
                                          general<5>, general<6>, general<7>, general<8>};
  if (x.dilation == 1 && x.stride == 1) {
    if (x.kernel == 3) return unrolled_function<3, 1>(count);
    if (x.kernel == 5) return unrolled_function<5, 1>(count);
    if (x.kernel == 7) return unrolled_function<7, 1>(count);
  }
  if (x.dilation == 1 && x.stride == 2) {
    if (x.kernel == 3) return unrolled_function<3, 2>(count);
    if (x.kernel == 5) return unrolled_function<5, 2>(count);
  }
  return kGeneral[count - 1];
}

// Rows of the kernel that meet the input: [first, last).
void kernel_rows(const WindowAxis& y, std::int64_t row, std::int64_t& first,
                 std::int64_t& last) noexcept {
  const std::int64_t top = row * y.stride - y.pad_begin;
  first = 0;
  while (first < y.kernel && top + first * y.dilation < 0) ++first;
  last = first;
  while (last < y.kernel && top + last * y.dilation < y.input) ++last;
}

// Where the pixels of input columns [first, first + count) of one row lie.
void point(const DepthwiseNhwcRow& task, std::int64_t row, std::int64_t first, std::int64_t count,
           const float** pixels) noexcept {
  const float* const line = task.input + row * task.x.input * task.channels;
  if (first >= 0 && first + count <= task.x.input) {
    for (std::int64_t i = 0; i < count; ++i) pixels[i] = line + (first + i) * task.channels;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    pixels[i] = first + i >= 0 && first + i < task.x.input ? line + (first + i) * task.channels
                                                           : task.zeros;
}

void depthwise_row(const DepthwiseNhwcRow& task) noexcept {
  const WindowAxis& ax = task.x;
  const float* pixels[kDepthwisePointers];
  std::int64_t first_row = 0, last_row = 0;
  kernel_rows(task.y, task.row, first_row, last_row);
  const auto width_of = [&](std::int64_t count) { return (count - 1) * ax.stride + ax.extent(); };
  std::int64_t most = kColumns;
  while (most > 1 && width_of(most) * task.y.kernel > kDepthwisePointers) --most;
  const std::int64_t blocks = (ax.output + most - 1) / most;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = ax.output * b / blocks;
    const std::int64_t count = ax.output * (b + 1) / blocks - first;
    const std::int64_t width = width_of(count);
    for (std::int64_t r = first_row; r < last_row; ++r)
      point(task, task.row * task.y.stride - task.y.pad_begin + r * task.y.dilation,
            first * ax.stride - ax.pad_begin, width, pixels + (r - first_row) * width);
    const Columns columns{
        task, pixels, width, first_row, last_row - first_row, task.output + first * task.channels};
    columns_function(ax, count)(columns);
  }
}

}  // namespace

extern const DepthwiseNhwcOps kDepthwiseNhwcOps;
const DepthwiseNhwcOps kDepthwiseNhwcOps = {depthwise_row};

}  // namespace softneuro::SN_ISA_NAMESPACE
