#include "cpu/simd/transpose_tiles.h"

#include <cstring>
#include <utility>

#include "cpu/simd/vector.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// `parts` lanes of 16 bytes side by side, seen as elements T.
template <class T, int parts>
using Block __attribute__((vector_size(16 * parts))) = T;

// The interleaved lower (or upper) halves of a and b, lane by lane.
template <class T, int parts, bool upper, std::size_t... i>
SN_INLINE Block<T, parts> interleave(Block<T, parts> a, Block<T, parts> b,
                                     std::index_sequence<i...>) {
  constexpr std::size_t n = 16 / sizeof(T), all = n * parts;
  return __builtin_shufflevector(
      a, b, (i / n * n + i % n / 2 + (upper ? n / 2 : 0) + (i % 2 == 0 ? 0 : all))...);
}

// Columns [j, j + n) of rows i + k, i + n + k, i + 2n + k…, one lane each, n = 16 / sizeof(T).
template <class T, int parts>
SN_INLINE Block<T, parts> load_lanes(const T* p, std::int64_t stride) {
  constexpr int n = 16 / sizeof(T);
  Block<T, parts> v;
  for (int part = 0; part < parts; ++part)
    std::memcpy(reinterpret_cast<char*>(&v) + 16 * part, p + part * n * stride, 16);
  return v;
}
#if defined(__AVX512F__)
template <class T>
SN_INLINE Block<T, 4> load_four_lanes(const T* p, std::int64_t stride) {
  constexpr int n = 16 / sizeof(T);
  const auto lane = [&](int part) __attribute__((always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + part * n * stride));
  };
  __m512i v = _mm512_castsi128_si512(lane(0));
  v = _mm512_inserti32x4(v, lane(1), 1);
  v = _mm512_inserti32x4(v, lane(2), 2);
  v = _mm512_inserti32x4(v, lane(3), 3);
  return (Block<T, 4>)v;
}
#endif

// n·parts rows by n columns through registers: log2(n) rounds, each of which interleaves row k
// with row k + n/2, transpose every lane.
template <class T, int parts>
SN_INLINE void transpose_block(const T* source, std::int64_t source_stride, T* target,
                               std::int64_t target_stride) {
  constexpr int n = 16 / sizeof(T);
  constexpr auto elements = std::make_index_sequence<static_cast<std::size_t>(n * parts)>();
  Block<T, parts> v[n], next[n];
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k) {
#if defined(__AVX512F__)
    if constexpr (parts == 4)
      v[k] = load_four_lanes<T>(source + k * source_stride, source_stride);
    else
#endif
      v[k] = load_lanes<T, parts>(source + k * source_stride, source_stride);
  }
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
#pragma GCC unroll 8
    for (int k = 0; k < n / 2; ++k) {
      next[2 * k] = interleave<T, parts, false>(v[k], v[k + n / 2], elements);
      next[2 * k + 1] = interleave<T, parts, true>(v[k], v[k + n / 2], elements);
    }
#pragma GCC unroll 16
    for (int k = 0; k < n; ++k) v[k] = next[k];
  }
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k) std::memcpy(target + k * target_stride, &v[k], sizeof v[k]);
}

template <class T>
void transpose_by_one(const T* source, std::int64_t source_stride, T* target,
                      std::int64_t target_stride, std::int64_t rows,
                      std::int64_t columns) noexcept {
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      target[j * target_stride + i] = source[i * source_stride + j];
}

// Few rows that end up side by side: pictures of one to four channels.
template <class T, int rows>
void interleave_rows(const T* source, std::int64_t stride, T* __restrict target,
                     std::int64_t columns) noexcept {
  for (std::int64_t j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) target[j * rows + i] = source[i * stride + j];
}
// And apart again.
template <class T, int columns>
void part_columns(const T* __restrict source, T* target, std::int64_t stride,
                  std::int64_t rows) noexcept {
  for (int j = 0; j < columns; ++j) {
    T* __restrict to = target + j * stride;
    for (std::int64_t i = 0; i < rows; ++i) to[i] = source[i * columns + j];
  }
}

// Calls f with `count` as a constant, if it is 2, 3 or 4.
template <class F>
SN_INLINE bool with_few(std::int64_t count, F&& f) {
  if (count == 2) f(std::integral_constant<int, 2>());
  if (count == 3) f(std::integral_constant<int, 3>());
  if (count == 4) f(std::integral_constant<int, 4>());
  return count >= 2 && count <= 4;
}

template <class T>
bool transpose_few(const T* source, T* target, const TileMove& m) noexcept {
  if (m.target_stride == m.rows && with_few(m.rows, [&](auto rows) {
        interleave_rows<T, rows>(source, m.source_stride, target, m.columns);
      }))
    return true;
  return m.source_stride == m.columns && with_few(m.columns, [&](auto columns) {
           part_columns<T, columns>(source, target, m.target_stride, m.rows);
         });
}

template <class T>
void transpose_matrix(const TileMove& m) noexcept {
  constexpr std::int64_t n = 16 / sizeof(T);
  constexpr int parts = kLanes / 4;
  const T* source = static_cast<const T*>(m.source);
  T* target = static_cast<T*>(m.target);
  if (transpose_few(source, target, m)) return;
  const std::int64_t columns = m.columns / n * n;
  std::int64_t i = 0;
  for (; i + n * parts <= m.rows; i += n * parts)
    for (std::int64_t j = 0; j < columns; j += n)
      transpose_block<T, parts>(source + i * m.source_stride + j, m.source_stride,
                                target + j * m.target_stride + i, m.target_stride);
  if constexpr (parts > 1)
    for (; i + n <= m.rows; i += n)
      for (std::int64_t j = 0; j < columns; j += n)
        transpose_block<T, 1>(source + i * m.source_stride + j, m.source_stride,
                              target + j * m.target_stride + i, m.target_stride);
  transpose_by_one(source + i * m.source_stride, m.source_stride, target + i, m.target_stride,
                   m.rows - i, columns);
  transpose_by_one(source + columns, m.source_stride, target + columns * m.target_stride,
                   m.target_stride, m.rows, m.columns - columns);
}

void transpose(std::size_t bytes, const TileMove& move) noexcept {
  if (bytes == 1)
    transpose_matrix<std::uint8_t>(move);
  else if (bytes == 2)
    transpose_matrix<std::uint16_t>(move);
  else
    transpose_matrix<std::uint32_t>(move);
}

// Short rows of any length: 16 bytes at a time, the last ones overlapping those before.
void copy_odd_rows(const char* source, std::int64_t source_step, char* target,
                   std::int64_t target_step, std::int64_t rows, std::int64_t width) noexcept {
  for (std::int64_t i = 0; i < rows; ++i, source += source_step, target += target_step) {
    for (std::int64_t k = 0; k + 16 < width; k += 16) std::memcpy(target + k, source + k, 16);
    std::memcpy(target + width - 16, source + width - 16, 16);
  }
}

template <std::size_t width>
void copy_rows(const char* source, std::int64_t source_step, char* target, std::int64_t target_step,
               std::int64_t rows) noexcept {
  for (std::int64_t i = 0; i < rows; ++i)
    std::memcpy(target + i * target_step, source + i * source_step, width);
}

void copy(std::size_t bytes, const TileMove& m) noexcept {
  const auto size = static_cast<std::int64_t>(bytes);
  const char* source = static_cast<const char*>(m.source);
  char* target = static_cast<char*>(m.target);
  const std::int64_t from = m.source_stride * size, to = m.target_stride * size;
  switch (m.columns * size) {
    case 8:
      return copy_rows<8>(source, from, target, to, m.rows);
    case 16:
      return copy_rows<16>(source, from, target, to, m.rows);
    case 32:
      return copy_rows<32>(source, from, target, to, m.rows);
    case 64:
      return copy_rows<64>(source, from, target, to, m.rows);
    default:
      if (m.columns * size > 16 && m.columns * size <= 512)
        return copy_odd_rows(source, from, target, to, m.rows, m.columns * size);
      for (std::int64_t i = 0; i < m.rows; ++i)
        std::memcpy(target + i * to, source + i * from, static_cast<std::size_t>(m.columns * size));
  }
}

}  // namespace

extern const TransposeTiles kTransposeTiles;
const TransposeTiles kTransposeTiles = {transpose, copy};

}  // namespace softneuro::SN_ISA_NAMESPACE
