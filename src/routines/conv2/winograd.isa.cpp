#include "routines/conv2/winograd.h"

#include <array>
#include <utility>

#include "cpu/simd/vector_element.h"

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would leave the sums in memory.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

constexpr int kBlock = static_cast<int>(kWgBlock);
constexpr int kParts = kBlock / kLanes;  // vectors of a block

// --- one-dimensional transforms: core/layers/winograd_matrices.h's matrices, common terms shared
// -----------------

// Bᵀ d
SN_INLINE void encode_line(const FloatV (&d)[4], FloatV (&o)[4]) {
  o[0] = d[2] - d[0];
  o[1] = d[2] + d[1];
  o[2] = d[2] - d[1];
  o[3] = d[3] - d[1];
}
SN_INLINE void encode_line(const FloatV (&d)[6], FloatV (&o)[6]) {
  const FloatV even1 = d[4] - 4.0f * d[2], odd1 = d[3] - 4.0f * d[1];
  const FloatV even2 = d[4] - d[2], odd2 = 2.0f * (d[3] - d[1]);
  o[0] = even1 + (4.0f * d[0] - d[2]);
  o[1] = even1 + odd1;
  o[2] = even1 - odd1;
  o[3] = even2 + odd2;
  o[4] = even2 - odd2;
  o[5] = (d[5] - d[3]) - 4.0f * (d[3] - d[1]);
}
SN_INLINE void encode_line(const FloatV (&d)[8], FloatV (&o)[8]) {
  const FloatV even1 = d[6] + d[2] - 4.25f * d[4], odd1 = d[5] + d[1] - 4.25f * d[3];
  const FloatV even2 = d[6] - 1.25f * d[4] + 0.25f * d[2];
  const FloatV odd2 = 2.0f * d[5] - 2.5f * d[3] + 0.5f * d[1];
  const FloatV even3 = d[6] - 5.0f * d[4] + 4.0f * d[2];
  const FloatV odd3 = 0.5f * d[5] - 2.5f * d[3] + 2.0f * d[1];
  o[0] = (d[6] - d[0]) + 5.25f * (d[2] - d[4]);
  o[1] = even1 + odd1;
  o[2] = even1 - odd1;
  o[3] = even2 + odd2;
  o[4] = even2 - odd2;
  o[5] = even3 + odd3;
  o[6] = even3 - odd3;
  o[7] = (d[7] - d[1]) + 5.25f * (d[3] - d[5]);
}

// G g at ±point, scaled: even and odd powers apart.
template <int Taps>
SN_INLINE void weights_at(const FloatV (&g)[Taps], float point, float scale, FloatV& plus,
                          FloatV& minus) {
  const float square = point * point;
  FloatV even = g[0] + square * g[2], odd = g[1];
  if constexpr (Taps == 5) {
    even += square * square * g[4];
    odd += square * g[3];
  }
  plus = scale * even + scale * point * odd;
  minus = scale * even - scale * point * odd;
}
template <int Taps>
SN_INLINE void weights_line(const FloatV (&g)[Taps], FloatV (&o)[4]) {
  o[0] = -g[0];
  weights_at(g, 1.0f, 0.5f, o[1], o[2]);
  o[3] = g[Taps - 1];
}
template <int Taps>
SN_INLINE void weights_line(const FloatV (&g)[Taps], FloatV (&o)[6]) {
  o[0] = 0.25f * g[0];
  weights_at(g, 1.0f, -1.0f / 6, o[1], o[2]);
  weights_at(g, 2.0f, 1.0f / 24, o[3], o[4]);
  o[5] = g[Taps - 1];
}
template <int Taps>
SN_INLINE void weights_line(const FloatV (&g)[Taps], FloatV (&o)[8]) {
  o[0] = -g[0];
  weights_at(g, 1.0f, -2.0f / 9, o[1], o[2]);
  weights_at(g, 2.0f, 1.0f / 90, o[3], o[4]);
  weights_at(g, 0.5f, 32.0f / 45, o[5], o[6]);
  o[7] = g[Taps - 1];
}

// Aᵀ m: the sum of value · point^i over the points; the last output has the point at infinity, too.
template <int Outputs>
SN_INLINE void decode_line(const FloatV (&m)[4], FloatV (&o)[Outputs]) {
  static_assert(Outputs == 2);
  o[0] = m[0] + (m[1] + m[2]);
  o[1] = (m[1] - m[2]) + m[3];
}
template <int Outputs>
SN_INLINE void decode_line(const FloatV (&m)[6], FloatV (&o)[Outputs]) {
  const FloatV sum1 = m[1] + m[2], difference1 = m[1] - m[2];
  const FloatV sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  o[0] = m[0] + sum1 + sum2;
  o[1] = difference1 + 2.0f * difference2;
  if constexpr (Outputs > 2) {
    o[2] = sum1 + 4.0f * sum2;
    o[3] = difference1 + 8.0f * difference2;
  }
  o[Outputs - 1] += m[5];
}
template <int Outputs>
SN_INLINE void decode_line(const FloatV (&m)[8], FloatV (&o)[Outputs]) {
  const FloatV sum1 = m[1] + m[2], difference1 = m[1] - m[2];
  const FloatV sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  const FloatV sum3 = m[5] + m[6], difference3 = m[5] - m[6];
  o[0] = m[0] + sum1 + sum2 + sum3;
  o[1] = difference1 + 2.0f * difference2 + 0.5f * difference3;
  o[2] = sum1 + 4.0f * sum2 + 0.25f * sum3;
  o[3] = difference1 + 8.0f * difference2 + 0.125f * difference3;
  if constexpr (Outputs > 4) {
    o[4] = sum1 + 16.0f * sum2 + 0.0625f * sum3;
    o[5] = difference1 + 32.0f * difference2 + 0.03125f * difference3;
  }
  o[Outputs - 1] += m[7];
}

// --- tiles ---------------------------------------------------------------------------------------

// A transform in both directions, M d Mᵀ: `line` multiplies From values by M, load_at(i, j) gives
// the elements of d, store_at(i, j, v) takes those of the result.
template <int From, int To, class Load, class Line, class Store>
SN_INLINE void transform(Load&& load_at, Line&& line, Store&& store_at) {
  FloatV half[To][From];  // columns are done
#pragma GCC unroll 8
  for (int j = 0; j < From; ++j) {
    FloatV d[From], o[To];
#pragma GCC unroll 8
    for (int i = 0; i < From; ++i) d[i] = load_at(i, j);
    line(d, o);
#pragma GCC unroll 8
    for (int i = 0; i < To; ++i) half[i][j] = o[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < To; ++i) {
    FloatV o[To];
    line(half[i], o);
#pragma GCC unroll 8
    for (int j = 0; j < To; ++j) store_at(i, j, o[j]);
  }
}

// The lanes of `part` that the last block of `channels` has.
SN_INLINE std::int64_t lanes_of(std::int64_t channels, int part) {
  const std::int64_t left = channels - part * kLanes;
  return left < 0 ? 0 : left < kLanes ? left : kLanes;
}

template <int T, bool Partial, class Element>
SN_INLINE void encode_vector(const Element* const* pixels, std::int64_t at, std::int64_t lanes,
                             float* to, std::int64_t point_stride) {
  transform<T, T>(
      [&](int i, int j) __attribute__((always_inline)) {
        const Element* const from = pixels[i * T + j] + at;
        return Partial ? load_elements(from, lanes) : load_element(from);
      },
      [](const auto& d, auto& o) __attribute__((always_inline)) { encode_line(d, o); },
      [&](int i, int j, FloatV v)
          __attribute__((always_inline)) { store(to + (i * T + j) * point_stride, v); });
}

template <int T, class Element>
void encode_tile(const WgEncode<Element>& task) noexcept {
  for (std::int64_t b = 0; b < task.blocks; ++b) {
    const std::int64_t channels = b + 1 < task.blocks ? kWgBlock : task.last_channels;
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t at = b * task.input_block_stride + part * kLanes;
      float* const to = task.to + b * task.block_stride + part * kLanes;
      const std::int64_t lanes = lanes_of(channels, part);
      if (lanes == kLanes)
        encode_vector<T, false>(task.pixels, at, lanes, to, task.point_stride);
      else if (lanes > 0)
        encode_vector<T, true>(task.pixels, at, lanes, to, task.point_stride);
      else
        for (int p = 0; p < T * T; ++p) store(to + p * task.point_stride, FloatV{});
    }
  }
}

template <class Element>
void encode(int tile, const WgEncode<Element>& task) noexcept {
  if (tile == 4)
    encode_tile<4>(task);
  else if (tile == 6)
    encode_tile<6>(task);
  else
    encode_tile<8>(task);
}

template <int T, int Taps>
void expand_panel(const WgExpand& task) noexcept {
  constexpr int kPanelParts = static_cast<int>(kWgPanel) / kLanes;
  for (std::int64_t k = 0; k < task.depth; ++k)
    for (int part = 0; part < kPanelParts; ++part) {
      const float* const from = task.from + k * (Taps * Taps * kWgPanel) + part * kLanes;
      float* const to = task.to + k * kWgPanel + part * kLanes;
      transform<Taps, T>(
          [&](int i, int j)
              __attribute__((always_inline)) { return load(from + (i * Taps + j) * kWgPanel); },
          [](const auto& g, auto& o) __attribute__((always_inline)) { weights_line(g, o); },
          [&](int i, int j, FloatV v)
              __attribute__((always_inline)) { store(to + (i * T + j) * task.point_stride, v); });
    }
}

void expand(int tile, int taps, const WgExpand& task) noexcept {
  if (tile == 4)
    expand_panel<4, 3>(task);
  else if (tile == 6)
    taps == 3 ? expand_panel<6, 3>(task) : expand_panel<6, 5>(task);
  else
    taps == 3 ? expand_panel<8, 3>(task) : expand_panel<8, 5>(task);
}

// How results of one vector of channels are finished and where they go.
template <class Element>
struct Target {
  FloatV bias, low, high;
  Element* y;
  const Element* addend;
  std::int64_t lanes;
  bool pad;
};

template <class Element>
SN_INLINE void finish(const Target<Element>& t, std::int64_t at, FloatV v) {
  v += t.bias;
  if (t.lanes == kLanes) {
    if (t.addend != nullptr) v += load_element(t.addend + at);
    // The second operand wins where one is NaN.
    return store_element(t.y + at, min(t.high, max(t.low, v)));
  }
  if (t.addend != nullptr && t.lanes > 0) v += load_elements(t.addend + at, t.lanes);
  v = min(t.high, max(t.low, v));
  if (t.pad) {
    float lanes[kLanes];
    store(lanes, v);
    for (std::int64_t i = t.lanes; i < kLanes; ++i) lanes[i] = 0;
    store_element(t.y + at, load(lanes));
  } else if (t.lanes > 0) {
    store_elements(t.y + at, v, t.lanes);
  }
}

// Like transform(), but of the result only what lies within the output.
template <int T, int Outputs, class Element>
SN_INLINE void decode_vector(const WgDecode<Element>& task, const float* from,
                             const Target<Element>& target) {
  FloatV half[Outputs][T];  // columns are done
#pragma GCC unroll 8
  for (int j = 0; j < T; ++j) {
    FloatV m[T], o[Outputs];
#pragma GCC unroll 8
    for (int i = 0; i < T; ++i) m[i] = load(from + (i * T + j) * task.point_stride);
    decode_line(m, o);
#pragma GCC unroll 8
    for (int i = 0; i < Outputs; ++i) half[i][j] = o[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < Outputs; ++i) {
    if (i >= task.rows) break;
    FloatV o[Outputs];
    decode_line(half[i], o);
#pragma GCC unroll 8
    for (int j = 0; j < Outputs; ++j) {
      if (j >= task.columns) break;
      finish(target, i * task.row_stride + j * task.pixel_stride, o[j]);
    }
  }
}

template <int T, int Outputs, class Element>
void decode_tile(const WgDecode<Element>& task) noexcept {
  for (std::int64_t b = 0; b < task.blocks; ++b) {
    const std::int64_t channels = b + 1 < task.blocks ? kWgBlock : task.last_channels;
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t lanes = lanes_of(channels, part);
      if (lanes == 0 && !task.pad_last) continue;
      const std::int64_t at = b * task.y_block_stride + part * kLanes;
      const Target<Element> target = {
          task.bias == nullptr ? FloatV{} : load(task.bias + b * kWgBlock + part * kLanes),
          splat(task.low),
          splat(task.high),
          task.y + at,
          task.addend == nullptr ? nullptr : task.addend + at,
          lanes,
          task.pad_last};
      decode_vector<T, Outputs>(task, task.from + b * task.block_stride + part * kLanes, target);
    }
  }
}

template <class Element>
void decode(int tile, int outputs, const WgDecode<Element>& task) noexcept {
  if (tile == 4)
    decode_tile<4, 2>(task);
  else if (tile == 6)
    outputs == 2 ? decode_tile<6, 2>(task) : decode_tile<6, 4>(task);
  else
    outputs == 4 ? decode_tile<8, 4>(task) : decode_tile<8, 6>(task);
}

// --- products ------------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int kRows = 14;  // 28 of 32 registers hold sums
#else
constexpr int kRows = 6;  // 12 of 16
#endif
constexpr int kVectors = 2;

struct Product {
  std::int64_t depth;
  const float* v;
  std::int64_t v_block_stride;
  const float* u;
  float* c;
  std::int64_t c_block_stride;
  bool accumulate;

  float* target(int row, int vector) const {
    return c + vector * kLanes / kBlock * c_block_stride + vector * kLanes % kBlock + row * kBlock;
  }
};

template <int Rows, int Vectors>
void multiply_rows(const Product& p) noexcept {
  FloatV sums[Rows][Vectors] = {};
  if (p.accumulate)
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sums[r][j] = load(p.target(r, j));
  const float* u = p.u;
  const auto step = [&](const float* v) {
    FloatV columns[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) columns[j] = load(u + j * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const FloatV value = splat(v[r * kBlock]);
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sums[r][j] += columns[j] * value;
    }
    u += kWgPanel;
  };
  const float* v = p.v;
  std::int64_t depth = p.depth;
  for (; depth >= kBlock; depth -= kBlock, v += p.v_block_stride)
#pragma GCC unroll 4
    for (int k = 0; k < kBlock; ++k) step(v + k);
  for (std::int64_t k = 0; k < depth; ++k) step(v + k);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) store(p.target(r, j), sums[r][j]);
}

using ProductFunction = void (*)(const Product&) noexcept;

template <int Vectors, int... I>
constexpr auto make_table(std::integer_sequence<int, I...>) {
  return std::array<ProductFunction, sizeof...(I)>{&multiply_rows<I + 1, Vectors>...};
}

// All tiles against `Vectors` vectors of columns, in groups of nearly equal size.
template <int Vectors>
void multiply_columns(const WgMultiply& task, Product product) noexcept {
  static constexpr auto kByRows = make_table<Vectors>(std::make_integer_sequence<int, kRows>());
  const std::int64_t groups = (task.tiles + kRows - 1) / kRows;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t first = task.tiles * g / groups;
    const std::int64_t rows = task.tiles * (g + 1) / groups - first;
    Product part = product;
    part.v += first * kBlock;
    part.c += first * kBlock;
    kByRows[static_cast<std::size_t>(rows - 1)](part);
  }
}

void multiply(const WgMultiply& task) noexcept {
  constexpr std::int64_t kColumns = kVectors * kLanes;
  const std::int64_t columns = task.output_blocks * kBlock;
  for (std::int64_t n = 0; n < columns; n += kColumns) {
    Product product{};
    product.depth = task.depth;
    product.v = task.v;
    product.v_block_stride = task.v_block_stride;
    product.u = task.u + n / kWgPanel * kWgPanel * task.depth + n % kWgPanel;
    product.c = task.c + n / kBlock * task.c_block_stride + n % kBlock;
    product.c_block_stride = task.c_block_stride;
    product.accumulate = task.accumulate;
    if (columns - n >= kColumns)
      multiply_columns<kVectors>(task, product);
    else
      multiply_columns<1>(task, product);
  }
}

// With a number of taps that the compiler knows, at least w.taps, sums stay in registers.
template <int Taps>
void transform_panel(const WinogradMatrices& w, const float* g, float* u) noexcept {
  constexpr int kTogether = 16;  // kernels
  using Row = double[kTogether];
  for (std::int64_t n = 0; n < kWgPanel; n += kTogether) {
    Row tap[Taps][Taps] = {};
    for (int k = 0; k < w.taps; ++k)
      for (int l = 0; l < w.taps; ++l)
        for (int x = 0; x < kTogether; ++x)
          tap[k][l][x] = static_cast<double>(g[(k * w.taps + l) * kWgPanel + n + x]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(w.tile); ++i) {
      Row half[Taps];  // of G g
      for (int l = 0; l < Taps; ++l)
        for (int x = 0; x < kTogether; ++x) {
          double sum = 0;
          for (std::size_t k = 0; k < Taps; ++k) sum += w.weights[i][k] * tap[k][l][x];
          half[l][x] = sum;
        }
      float* row = u + static_cast<std::int64_t>(i) * w.tile * kWgPanel + n;
      for (std::size_t j = 0; j < static_cast<std::size_t>(w.tile); ++j, row += kWgPanel)
        for (int x = 0; x < kTogether; ++x) {
          double sum = 0;
          for (std::size_t l = 0; l < Taps; ++l) sum += half[l][x] * w.weights[j][l];
          row[x] = static_cast<float>(sum);
        }
    }
  }
}

void transform_weights(const WinogradMatrices& w, const float* g, float* u) noexcept {
  (w.taps <= 3   ? transform_panel<3>
   : w.taps <= 5 ? transform_panel<5>
                 : transform_panel<7>)(w, g, u);
}

}  // namespace

extern const WgOps kWgOps;
const WgOps kWgOps = {{encode<float>, decode<float>},
                      {encode<Half>, decode<Half>},
                      {encode<BFloat16>, decode<BFloat16>},
                      expand,
                      multiply,
                      transform_weights,
                      kRows};

}  // namespace softneuro::SN_ISA_NAMESPACE
