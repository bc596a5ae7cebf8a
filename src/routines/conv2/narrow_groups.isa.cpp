#include "routines/conv2/narrow_groups.h"

#include <bit>
#include <type_traits>
#include <utility>

#include "cpu/simd/vector_element.h"

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
constexpr std::int64_t kPanel = kGroupPanel;

// The input that a block of output columns sees: a pointer for each row of the kernel and each
// column, to a pixel's channels or to zeros. T: float, Half or BFloat16, as everywhere below.
template <class T>
struct Columns {
  const T* const* pixels;
  std::int64_t width;            // columns of a row of pixels
  std::int64_t first_row, rows;  // of the kernel: those that meet the input
  T* output;
  float* floats;  // given: results go there, unrounded
};

// For each vector: sum(its first channel, its weights from the first row on that meets the input,
// sums), then stores what was summed.
template <int Count, class T, class Sum>
SN_INLINE void for_vectors(const GroupConvRow& task, const Columns<T>& columns, Sum&& sum) {
  const std::int64_t position = task.group * kPanel;  // weights of one position of the kernel
  const std::int64_t panel_weights = task.y.kernel * task.x.kernel * position;
  const float* const weights =
      static_cast<const float*>(task.weights) + columns.first_row * task.x.kernel * position;
  const float* const bias = task.bias;
  const FloatV low = splat(task.low), high = splat(task.high);
  const std::int64_t channels = task.channels, last = task.last_panel;
  for (std::int64_t p = task.first_panel; p < last; ++p)
    for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
      const std::int64_t channel = panel_channel(p, channels) + lane;
      FloatV sums[Count];
      const FloatV first = bias != nullptr ? load(bias + p * kPanel + lane) : FloatV{};
#pragma GCC unroll 8
      for (int i = 0; i < Count; ++i) sums[i] = first;
      sum(channel, weights + p * panel_weights + lane, sums);
      const auto write = [&](auto* to) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int i = 0; i < Count; ++i, to += channels)
          store_element(to, min(high, max(low, sums[i])));
      };
      if constexpr (!std::is_same_v<T, float>)
        if (columns.floats != nullptr) {
          write(columns.floats + channel);
          continue;
        }
      write(columns.output + channel);
    }
}

// Adds what the inputs of one row of a kernel that is `Width` wide give; input(i) is the i-th.
template <int Width, int Stride, int Count, class Input>
SN_INLINE void add_row(const float* weights, std::int64_t weights_step, FloatV (&sums)[Count],
                       Input&& input) {
  FloatV w[Width];
#pragma GCC unroll 8
  for (int k = 0; k < Width; ++k) w[k] = load(weights + k * weights_step);
#pragma GCC unroll 24
  for (int i = 0; i < (Count - 1) * Stride + Width; ++i) {
    const FloatV x = input(i);
#pragma GCC unroll 8
    for (int k = 0; k < Width; ++k)
      if (i >= k && (i - k) % Stride == 0 && (i - k) / Stride < Count)
        sums[(i - k) / Stride] += x * w[k];
  }
}

// `Count` columns of a depthwise kernel that is `Width` wide, without dilation along x.
template <class T, int Width, int Stride, int Count>
void depthwise(const GroupConvRow& task, const Columns<T>& c) noexcept {
  const std::int64_t rows = c.rows, width = c.width;
  const T* const* const first = c.pixels;
  for_vectors<Count>(
      task, c,
      [&](std::int64_t channel, const float* weights, FloatV(&sums)[Count])
          __attribute__((always_inline)) {
            const T* const* pixels = first;
            for (std::int64_t r = 0; r < rows; ++r, pixels += width, weights += Width * kPanel)
              add_row<Width, Stride, Count>(
                  weights, kPanel, sums, [&](int i) __attribute__((always_inline)) {
                    return load_element(pixels[i] + channel);
                  });
          });
}

SN_INLINE float one_element(const float* p) {
  return *p;
}
SN_INLINE float one_element(const Half* p) {
#if defined(__F16C__)
  return _cvtsh_ss(p->bits);
#else
  return to_float(*p);
#endif
}
SN_INLINE float one_element(const BFloat16* p) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(p->bits) << 16);
}

// Lane l of the result is element `member` of the group that lane l belongs to. `pixel`: where the
// vector's channels begin; `start`: where their group does, if it is wider than a vector.
template <class T>
SN_INLINE FloatV spread(const T* pixel, std::int64_t start, std::int64_t member, bool narrow,
                        IntV group_starts) {
  if (!narrow) return splat(one_element(pixel + start + member));
  return permute(load_element(pixel), group_starts + static_cast<std::int32_t>(member));
}

// The first lane of each lane's group.
SN_INLINE IntV starts_of(std::int64_t group) {
  IntV starts;
  for (int i = 0; i < kLanes; ++i) starts[i] = static_cast<std::int32_t>(i - i % group);
  return starts;
}

template <class T, int Width, int Stride, int Count>
void grouped(const GroupConvRow& task, const Columns<T>& c) noexcept {
  const std::int64_t group = task.group, rows = c.rows, width = c.width;
  const bool narrow = group < kLanes;
  const IntV starts = starts_of(narrow ? group : kLanes);
  const T* const* const first = c.pixels;
  for_vectors<Count>(
      task, c,
      [&](std::int64_t channel, const float* weights, FloatV(&sums)[Count])
          __attribute__((always_inline)) {
            const std::int64_t start = -(channel % group);
            const T* const* pixels = first;
            for (std::int64_t r = 0; r < rows;
                 ++r, pixels += width, weights += (Width - 1) * group * kPanel)
              for (std::int64_t m = 0; m < group; ++m, weights += kPanel)
                add_row<Width, Stride, Count>(
                    weights, group * kPanel, sums, [&](int i) __attribute__((always_inline)) {
                      return spread(pixels[i] + channel, start, m, narrow, starts);
                    });
          });
}

// Any kernel, any group.
template <class T, int Count>
void general(const GroupConvRow& task, const Columns<T>& c) noexcept {
  const std::int64_t group = task.group;
  const bool narrow = group < kLanes;
  const IntV starts = starts_of(narrow ? group : kLanes);
  const std::int64_t kernel = task.x.kernel, dilation = task.x.dilation, stride = task.x.stride;
  for_vectors<Count>(
      task, c,
      [&](std::int64_t channel, const float* weights, FloatV(&sums)[Count])
          __attribute__((always_inline)) {
            const std::int64_t start = -(channel % group);
            for (std::int64_t r = 0; r < c.rows; ++r)
              for (std::int64_t k = 0; k < kernel; ++k)
                for (std::int64_t m = 0; m < group; ++m, weights += kPanel) {
                  const FloatV w = load(weights);
                  const T* const* pixels = c.pixels + r * c.width + k * dilation;
#pragma GCC unroll 8
                  for (int i = 0; i < Count; ++i, pixels += stride)
                    sums[i] += spread(*pixels + channel, start, m, narrow, starts) * w;
                }
          });
}

template <class T>
using ColumnsFunction = void (*)(const GroupConvRow&, const Columns<T>&) noexcept;

// A function per number of columns, from one on.
template <class T>
struct FunctionsByCount {
  ColumnsFunction<T> functions[kColumns];
  ColumnsFunction<T> operator[](std::int64_t count) const noexcept { return functions[count - 1]; }
};

template <class T, class OfCount, int... I>
constexpr FunctionsByCount<T> by_count(OfCount of, std::integer_sequence<int, I...>) noexcept {
  return {{of(std::integral_constant<int, I + 1>())...}};
}

template <class T, int Width, int Stride>
constexpr FunctionsByCount<T> kDepthwise =
    by_count<T>([](auto count) { return depthwise<T, Width, Stride, count>; },
                std::make_integer_sequence<int, kColumns>());

template <class T, int Stride>
constexpr FunctionsByCount<T> kGrouped =
    by_count<T>([](auto count) { return grouped<T, 3, Stride, count>; },
                std::make_integer_sequence<int, kColumns>());

template <class T>
constexpr FunctionsByCount<T> kGeneral = by_count<T>([](auto count) { return general<T, count>; },
                                                     std::make_integer_sequence<int, kColumns>());

template <class T>
ColumnsFunction<T> columns_function(const GroupConvRow& task, std::int64_t count) noexcept {
  const WindowAxis& x = task.x;
  if (x.dilation == 1 && x.stride == 1) {
    if (x.kernel == 3) return task.group == 1 ? kDepthwise<T, 3, 1>[count] : kGrouped<T, 1>[count];
    if (x.kernel == 5 && task.group == 1) return kDepthwise<T, 5, 1>[count];
    if (x.kernel == 7 && task.group == 1) return kDepthwise<T, 7, 1>[count];
  }
  if (x.dilation == 1 && x.stride == 2) {
    if (x.kernel == 3) return task.group == 1 ? kDepthwise<T, 3, 2>[count] : kGrouped<T, 2>[count];
    if (x.kernel == 5 && task.group == 1) return kDepthwise<T, 5, 2>[count];
  }
  return kGeneral<T>[count];
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

// Where the pixels of input columns [first, first + count) of one row are.
template <class T>
void point(const GroupConvRow& task, std::int64_t row, std::int64_t first, std::int64_t count,
           const T** pixels) noexcept {
  const T* const line = static_cast<const T*>(task.input) + row * task.x.input * task.channels;
  if (first >= 0 && first + count <= task.x.input) {
    const T* pixel = line + first * task.channels;
    const std::int64_t step = task.channels;
    for (std::int64_t i = 0; i < count; ++i, pixel += step) pixels[i] = pixel;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    pixels[i] = first + i >= 0 && first + i < task.x.input ? line + (first + i) * task.channels
                                                           : static_cast<const T*>(task.zeros);
}

template <class T>
void conv_row(const GroupConvRow& task) noexcept {
  const WindowAxis& ax = task.x;
  const T* pixels[kGroupPointers];
  std::int64_t first_row = 0, last_row = 0;
  kernel_rows(task.y, task.row, first_row, last_row);
  const auto width_of = [&](std::int64_t count) { return (count - 1) * ax.stride + ax.extent(); };
  std::int64_t most = kColumns;
  while (most > 1 && width_of(most) * task.y.kernel > kGroupPointers) --most;
  const std::int64_t blocks = (ax.output + most - 1) / most;
  const std::int64_t top = task.row * task.y.stride - task.y.pad_begin;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = ax.output * b / blocks;
    const std::int64_t count = ax.output * (b + 1) / blocks - first;
    const std::int64_t width = width_of(count);
    for (std::int64_t r = first_row; r < last_row; ++r)
      point(task, top + r * task.y.dilation, first * ax.stride - ax.pad_begin, width,
            pixels + (r - first_row) * width);
    const std::int64_t at = first * task.channels;
    const Columns<T> columns{pixels,
                             width,
                             first_row,
                             last_row - first_row,
                             static_cast<T*>(task.output) + at,
                             task.floats == nullptr ? nullptr : task.floats + at};
    columns_function<T>(task, count)(task, columns);
  }
}

}  // namespace

extern const GroupConvOps kGroupConvOps;
const GroupConvOps kGroupConvOps = {conv_row<float>, conv_row<Half>, conv_row<BFloat16>};

}  // namespace softneuro::SN_ISA_NAMESPACE
