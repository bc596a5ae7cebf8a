// The inner loops of products on tiles of bfloat16 (AMX), into which numbers are split: a block of
// C, of some rows of A that are anywhere in memory (as in MicroTile) and of packed columns of B,
// summed in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/cpu.h"
#include "cpu/gemm/epilogue_store.h"
#include "softneuro/types.h"

namespace softneuro {

inline constexpr std::int64_t kSplitStep = 32;  // numbers of the depth that are multiplied together
inline constexpr std::int64_t kSplitRows = 16;  // rows that are multiplied together
// Numbers of the depth that are split at a time, in steps of kSplitStep. Of float32 the parts of
// two tiles of rows and two panels just about fill a first-level cache of 48 KiB.
template <class T>
inline constexpr std::int64_t kSplitSlice = std::is_same_v<T, float> ? 4 : 8;

// Some rows of A are split: the numbers [begin, begin + depth) of each row's segments. T: of A's
// numbers, Half, BFloat16 or float.
template <class T>
struct SplitRows {
  const T* const* a = nullptr;  // a pointer for each segment and row, as in MicroTile
  int rows = 0;
  std::int64_t length = 0;  // of a segment
  std::int64_t begin = 0, depth = 0;
  // Tiles of kSplitRows rows, one after the other, each tile_bytes() of the slice's steps. What
  // rows the last one lacks is left as it is, and gives sums that are never read.
  std::byte* to = nullptr;
};

// C[r, j] (+)= Σ A[r, k] · B[k, j] for a slice of the depth, and up to two panels of B.
struct SplitProduct {
  const std::byte* a = nullptr;  // by SplitRows
  std::int64_t rows = 0;
  std::int64_t steps = 0;        // of the depth
  const std::byte* b = nullptr;  // first panel, at the slice; bytes from panel to panel
  std::int64_t b_panel_bytes = 0;
  std::int64_t panels = 0;  // 1 or 2
  bool add = false;         // to what is in C
  // For each kSplitRows rows, and in them for each panel, a tile of sums, kTilePanel a row.
  // c_panels: panels that C has. All of a tile is written.
  float* c = nullptr;
  std::int64_t c_panels = 0;
  // What of B is read next: as many cache lines from here on, and a panel further on, are called
  // into the second-level cache on the way.
  const std::byte* next = nullptr;
  std::int64_t next_lines = 0;
};

template <class T>
struct SplitTileOps {
  CpuFeatures needs;  // without which nothing of this may be called
  void (*split)(const SplitRows<T>&) noexcept = nullptr;
  // Between begin() and end(), by the same thread.
  void (*begin)() noexcept = nullptr;
  void (*multiply)(const SplitProduct&) noexcept = nullptr;
  void (*end)() noexcept = nullptr;
  // Bytes of so many steps of a tile of kSplitRows rows, split, as of a panel of B.
  std::int64_t (*tile_bytes)(std::int64_t steps) noexcept = nullptr;
  // One panel, from kTilePanel float32 for each number of the depth.
  void (*pack)(const float* from, std::int64_t segments, std::int64_t length,
               std::byte* to) noexcept = nullptr;
  void (*store)(const EpilogueStore<T>&) noexcept = nullptr;

  std::int64_t panel_bytes(std::int64_t segments, std::int64_t length) const noexcept {
    return tile_bytes((segments * length + kSplitStep - 1) / kSplitStep);
  }
};

// Sums in float32 of products as exact as float32's (of float16: more exact than its rounding; of
// bfloat16: exact), see split_tile_amxbf16.cpp. Infinite numbers give NaN, but not of bfloat16.
// Null: not in this build.
template <class T>
const SplitTileOps<T>* split_tile_ops() noexcept;

namespace amxbf16 {
void split(const SplitRows<Half>& rows) noexcept;
void split(const SplitRows<BFloat16>& rows) noexcept;
void split(const SplitRows<float>& rows) noexcept;
void begin() noexcept;
void end() noexcept;
// By the number of parts that numbers are split into.
void multiply_1(const SplitProduct& product) noexcept;
void multiply_2(const SplitProduct& product) noexcept;
void multiply_3(const SplitProduct& product) noexcept;
void pack_1(const float* from, std::int64_t depth, std::byte* to) noexcept;
void pack_2(const float* from, std::int64_t depth, std::byte* to) noexcept;
void pack_3(const float* from, std::int64_t depth, std::byte* to) noexcept;
}  // namespace amxbf16

}  // namespace softneuro
