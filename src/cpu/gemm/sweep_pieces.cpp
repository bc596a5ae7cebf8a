#include "cpu/gemm/sweep_pieces.h"

#include <algorithm>

namespace softneuro {
namespace {

constexpr std::int64_t kRowsOfLargeB = 96;
constexpr std::int64_t kMostPieces = 512;

}  // namespace

// Rows or columns? Every task reads its rows of A and its columns of B: what is larger is cut.
SweepPieces cut_sweep(const SweepExtent& extent, const SweepLimits& limits) noexcept {
  const std::int64_t wanted = std::clamp<std::int64_t>(
      pieces_of(extent.operations, limits.task_operations), 1, kMostPieces);
  // A task that reads much of B does so for many rows.
  const bool large = extent.b_bytes > limits.cache_bytes;
  const std::int64_t least_rows = large ? kRowsOfLargeB : extent.tile_rows;
  const std::int64_t most_pieces = std::max<std::int64_t>(extent.rows / least_rows, 1);
  SweepPieces pieces;
  pieces.groups = large ? std::min(extent.groups, wanted) : 1;
  pieces.rows = std::min(most_pieces, pieces_of(wanted, pieces.groups));
  if (large && pieces.groups >= extent.enough_pieces) pieces.rows = 1;  // B is read once
  pieces.groups = std::min(extent.groups, pieces_of(wanted, pieces.rows));
  return pieces;
}

}  // namespace softneuro
