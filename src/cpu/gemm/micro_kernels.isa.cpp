#include "cpu/gemm/micro_kernels.h"

#include <utility>

#include "cpu/simd/vector_element.h"
#include "softneuro/types.h"

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would leave the tiles in memory.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// Sums, a row of B and one broadcast element of A share the registers; at least eight sums keep
// two multipliers of four cycles' latency busy.
#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int kMaxVectors = 4, kMaxRows[] = {14, 12, 9, 6};  // of 32 registers
#else
constexpr int kMaxVectors = 2, kMaxRows[] = {10, 6};  // of 16
#endif
static_assert(kMaxVectors <= kTileMaxVectors && kMaxRows[0] <= kTileMaxRows);

constexpr int kPanelVectors = static_cast<int>(kTilePanel) / kLanes;
static_assert(kPanelVectors * kLanes == kTilePanel);

// Calls visit(row, vector, where it is in the tile of C, lanes) for all of them. Whole vectors,
// the usual case, have a loop of their own; and what the tile says is read once, since stores might
// change it as far as the compiler knows.
template <int Rows, int Vectors, class Visit>
SN_INLINE void for_each_vector(const MicroTile& t, Visit&& visit) {
  const std::int64_t stride = t.c_row_stride, last_lanes = t.last_lanes;
  std::int64_t offsets[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) offsets[v] = t.c_offsets[v];
  if (last_lanes == kLanes) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) visit(r, v, r * stride + offsets[v], kLanes);
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      visit(r, v, r * stride + offsets[v], v == Vectors - 1 ? last_lanes : kLanes);
}

template <int Rows, int Vectors>
SN_INLINE void begin_sums(const MicroTile& t, FloatV (&sums)[Rows][Vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    const FloatV first = t.bias != nullptr ? load(t.bias + v * kLanes) : FloatV{};
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) sums[r][v] = first;
  }
  const float* const addend = t.addend;
  if (addend == nullptr) return;
  for_each_vector<Rows, Vectors>(
      t, [&](int r, int v, std::int64_t at, std::int64_t lanes) __attribute__((always_inline)) {
        sums[r][v] += lanes == kLanes ? load(addend + at) : load_first(addend + at, lanes);
      });
}

template <int Rows, int Vectors>
SN_INLINE void end_sums(const MicroTile& t, FloatV (&sums)[Rows][Vectors]) {
  if (t.clamp)
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sums[r][v] = clamp(sums[r][v], t.low, t.high);
  float* const c = t.c;
  for_each_vector<Rows, Vectors>(
      t, [&](int r, int v, std::int64_t at, std::int64_t lanes) __attribute__((always_inline)) {
        if (lanes == kLanes)
          store(c + at, sums[r][v]);
        else
          store_first(c + at, sums[r][v], lanes);
      });
}

constexpr std::int64_t kRowsAhead = 16;

// One step's share of calling memory into the cache.
template <int Rows, int Vectors, class Weight>
SN_INLINE void prefetch(std::int64_t k, const Weight* b, const MicroTile& t, const char*& next) {
  if constexpr (Rows > 2) {
    if ((k & (t.next_every - 1)) != 0) return;
    __builtin_prefetch(next, 0, 2);
    next += kTileLine;
  } else {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; v += kPanelVectors)
      __builtin_prefetch(b + v / kPanelVectors * t.b_panel_stride + kRowsAhead * t.b_row_stride);
  }
}

template <int Rows, int Vectors, class Weight>
void multiply(const MicroTile& t) noexcept {
  FloatV sums[Rows][Vectors];
  begin_sums<Rows, Vectors>(t, sums);
  const float* const* pointers = t.a;
  const auto* b = static_cast<const Weight*>(t.b);
  const std::int64_t panel = t.b_panel_stride, step = t.b_row_stride, length = t.length;
  const char* next = static_cast<const char*>(t.next);
  for (std::int64_t s = 0; s < t.segments; ++s, pointers += Rows) {
    const float* a[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) a[r] = pointers[r] + t.offset;
    for (std::int64_t k = 0; k < length; ++k, b += step) {
      prefetch<Rows, Vectors>(k, b, t, next);
      FloatV row[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        row[v] = load_element(b + v / kPanelVectors * panel + v % kPanelVectors * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const FloatV x = splat(a[r][k]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sums[r][v] += x * row[v];
      }
    }
  }
  end_sums<Rows, Vectors>(t, sums);
}

template <int Vectors, int... Rows>
constexpr void add_rows(MicroKernels& kernels, std::integer_sequence<int, Rows...>) {
  kernels.max_rows[Vectors - 1] = sizeof...(Rows);
  ((kernels.multiply[Vectors - 1][Rows] = multiply<Rows + 1, Vectors, float>), ...);
  ((kernels.multiply_half[Vectors - 1][Rows] = multiply<Rows + 1, Vectors, Half>), ...);
}

template <int... Index>
constexpr MicroKernels make_kernels(std::integer_sequence<int, Index...>) {
  MicroKernels kernels;
  kernels.lanes = kLanes;
  kernels.max_vectors = kMaxVectors;
  (add_rows<Index + 1>(kernels, std::make_integer_sequence<int, kMaxRows[Index]>()), ...);
  return kernels;
}

}  // namespace

extern const MicroKernels kMicroKernels;
constinit const MicroKernels kMicroKernels =
    make_kernels(std::make_integer_sequence<int, kMaxVectors>());

}  // namespace softneuro::SN_ISA_NAMESPACE
