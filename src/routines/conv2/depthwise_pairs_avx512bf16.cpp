// One row of the output. The instruction takes numbers below float32's smallest normal one for
// zero.
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "routines/conv2/depthwise_pairs.h"
#include "softneuro/types.h"

namespace softneuro::avx512bf16 {

namespace {

#define SN_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kPairBytes = 4;

// What a block of output columns sees: a pointer for each row of the kernel and each column, to a
// pixel's channels or to zeros.
struct Columns {
  const BFloat16* const* pixels;
  std::int64_t width;  // columns of a row of pixels
  BFloat16* output;
  float* floats;  // given: results go there, unrounded
};

struct Panel {
  __m512 low, high;
};

SN_INLINE __m512 clamped(const GroupConvRow& task, __m512 v) {
  // (The second operand where either is NaN.)
  return _mm512_min_ps(_mm512_set1_ps(task.high), _mm512_max_ps(_mm512_set1_ps(task.low), v));
}

template <class T, std::size_t Count, class Place>
constexpr std::array<T, Count> table_of(Place place) {
  std::array<T, Count> table{};
  for (std::int64_t v = 0; v < 2; ++v)
    for (std::int64_t lane = 0; lane < kPairPanel / 2; ++lane)
      place(table, pair_channel(v, lane), v * (kPairPanel / 2) + lane);
  return table;
}
// Where each channel of a panel is in low and high, one behind the other.
alignas(64) constexpr auto kPlaces = table_of<std::uint16_t, kPairPanel>([](auto& table,
                                                                            std::int64_t channel,
                                                                            std::int64_t place) {
  table[static_cast<std::size_t>(channel)] = static_cast<std::uint16_t>(place);
});
alignas(64) constexpr auto kFloatPlaces =
    table_of<std::uint32_t, kPairPanel>([](auto& table, std::int64_t channel, std::int64_t place) {
      table[static_cast<std::size_t>(channel)] = static_cast<std::uint32_t>(place);
    });

SN_INLINE void store(const GroupConvRow& task, const Panel& sums, BFloat16* to) {
  const auto halves =
      (__m512i)_mm512_cvtne2ps_pbh(clamped(task, sums.high), clamped(task, sums.low));
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kPlaces.data()), halves));
}
SN_INLINE void store(const GroupConvRow& task, const Panel& sums, float* to) {
  const __m512 low = clamped(task, sums.low), high = clamped(task, sums.high);
  for (std::size_t half = 0; half < 2; ++half)
    _mm512_storeu_ps(
        to + half * 16,
        _mm512_permutex2var_ps(low, _mm512_load_si512(kFloatPlaces.data() + half * 16), high));
}

// Adds the products of one row of the kernel, or of it and the one below.
template <int Width, int Stride, int Count, bool Two>
SN_INLINE void add_rows(const BFloat16* const* pixels, std::int64_t width, std::int64_t channel,
                        const std::byte* weights, Panel (&sums)[Count]) {
  __m512bh low[Width], high[Width];
#pragma GCC unroll 8
  for (int k = 0; k < Width; ++k) {
    const std::byte* const pairs = weights + k * kPairPanel * kPairBytes;
    low[k] = (__m512bh)_mm512_loadu_si512(pairs);
    high[k] = (__m512bh)_mm512_loadu_si512(pairs + 64);
  }
#pragma GCC unroll 24
  for (int i = 0; i < (Count - 1) * Stride + Width; ++i) {
    const __m512i above = _mm512_loadu_si512(pixels[i] + channel);
    const __m512i below =
        Two ? _mm512_loadu_si512(pixels[width + i] + channel) : _mm512_setzero_si512();
    const auto x_low = (__m512bh)_mm512_unpacklo_epi16(above, below);
    const auto x_high = (__m512bh)_mm512_unpackhi_epi16(above, below);
#pragma GCC unroll 8
    for (int k = 0; k < Width; ++k)
      if (i >= k && (i - k) % Stride == 0 && (i - k) / Stride < Count) {
        Panel& sum = sums[(i - k) / Stride];
        sum.low = _mm512_dpbf16_ps(sum.low, x_low, low[k]);
        sum.high = _mm512_dpbf16_ps(sum.high, x_high, high[k]);
      }
  }
}

template <int Width, int Stride, int Count>
void run_columns(const GroupConvRow& task, const Columns& c) noexcept {
  const std::int64_t rows = task.y.kernel, channels = task.channels;
  const std::int64_t step = Width * kPairPanel * kPairBytes;  // of two rows of the kernel
  const std::int64_t panel_step = (rows + 1) / 2 * step;
  const auto* weights = static_cast<const std::byte*>(task.weights) + task.first_panel * panel_step;
  for (std::int64_t p = task.first_panel; p < task.last_panel; ++p) {
    const std::int64_t channel = panel_channel(p, channels, kPairPanel);
    Panel first = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (task.bias != nullptr)
      first = {_mm512_loadu_ps(task.bias + p * kPairPanel),
               _mm512_loadu_ps(task.bias + p * kPairPanel + 16)};
    Panel sums[Count];
#pragma GCC unroll 8
    for (int i = 0; i < Count; ++i) sums[i] = first;
    const BFloat16* const* pixels = c.pixels;
    std::int64_t r = 0;
    for (; r + 1 < rows; r += 2, pixels += 2 * c.width, weights += step)
      add_rows<Width, Stride, Count, true>(pixels, c.width, channel, weights, sums);
    if (r < rows) {
      add_rows<Width, Stride, Count, false>(pixels, c.width, channel, weights, sums);
      weights += step;
    }
    const auto write = [&](auto* to) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int i = 0; i < Count; ++i, to += channels) store(task, sums[i], to);
    };
    if (c.floats != nullptr)
      write(c.floats + channel);
    else
      write(c.output + channel);
  }
}

using ColumnsFunction = void (*)(const GroupConvRow&, const Columns&) noexcept;

template <int Count>
ColumnsFunction function_of(const WindowAxis& x) noexcept {
  if (x.stride == 2) return x.kernel == 3 ? run_columns<3, 2, Count> : run_columns<5, 2, Count>;
  return x.kernel == 3   ? run_columns<3, 1, Count>
         : x.kernel == 5 ? run_columns<5, 1, Count>
                         : run_columns<7, 1, Count>;
}

// Columns that are made at once. The last block of a row may overlap the one before.
struct Blocks {
  std::int64_t columns;
  ColumnsFunction run;
};
Blocks blocks_of(const WindowAxis& x) noexcept {
  const auto made = [&](std::int64_t columns) {
    return (x.output + columns - 1) / columns * columns;
  };
  if (x.output < 4) return {1, function_of<1>(x)};
  if (x.output >= 8 && made(8) <= made(7)) return {8, function_of<8>(x)};
  if (x.output >= 7 && made(7) <= made(4)) return {7, function_of<7>(x)};
  return {4, function_of<4>(x)};
}

}  // namespace

void depthwise_pairs_row(const GroupConvRow& task) noexcept {
  const WindowAxis &y = task.y, &x = task.x;
  const auto* const input = static_cast<const BFloat16*>(task.input);
  const auto* const zeros = static_cast<const BFloat16*>(task.zeros);
  const BFloat16* pixels[kGroupPointers];
  Blocks blocks = blocks_of(x);
  std::int64_t width = (blocks.columns - 1) * x.stride + x.kernel;
  if (width * y.kernel > kGroupPointers) {
    blocks = {1, function_of<1>(x)};
    width = x.kernel;
  }
  for (std::int64_t done = 0; done < x.output; done += blocks.columns) {
    const std::int64_t first = std::min(done, x.output - blocks.columns);
    const std::int64_t left = first * x.stride - x.pad_begin;
    for (std::int64_t r = 0; r < y.kernel; ++r) {
      const std::int64_t row = task.row * y.stride - y.pad_begin + r * y.dilation;
      const bool is_row = row >= 0 && row < y.input;
      for (std::int64_t i = 0; i < width; ++i)
        pixels[r * width + i] = is_row && left + i >= 0 && left + i < x.input
                                    ? input + (row * x.input + left + i) * task.channels
                                    : zeros;
    }
    const std::int64_t at = first * task.channels;
    blocks.run(task, {pixels, width, static_cast<BFloat16*>(task.output) + at,
                      task.floats == nullptr ? nullptr : task.floats + at});
  }
}

}  // namespace softneuro::avx512bf16
