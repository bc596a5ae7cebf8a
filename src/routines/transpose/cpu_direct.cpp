// transpose cpu/direct: adjacent axes merged; where the innermost axis changes, tiles of the two
// axes that are contiguous on one side each, so that both sides are read and written by lines.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/simd/transpose_tiles.h"
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileColumns = 64;
constexpr std::int64_t kGrain = 8192;  // elements

// TransposeTiles::transpose, and the same of 8 bytes.
void transpose_tile(std::size_t bytes, const TileMove& t) noexcept {
  if (bytes != 8) return transpose_tiles().transpose(bytes, t);
  const auto* const source = static_cast<const std::byte*>(t.source);
  auto* const target = static_cast<std::byte*>(t.target);
  for (std::int64_t i = 0; i < t.columns; ++i)
    for (std::int64_t j = 0; j < t.rows; ++j)
      std::memcpy(target + (i * t.target_stride + j) * 8, source + (j * t.source_stride + i) * 8,
                  8);
}

class DirectTransposeKernel final : public Kernel {
 public:
  // Axis `row_axis` of `copy` is contiguous in the source, the last one in the target.
  DirectTransposeKernel(const StridedCopy& copy, std::size_t row_axis)
      : copy_(copy), row_axis_(row_axis) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::size_t bytes = size_of(x.type);
    const auto axes = copy_.axes();
    const StridedCopy::Axis& row = axes[row_axis_];
    const StridedCopy::Axis& column = axes.back();
    const std::int64_t row_tiles = (row.count + kTileRows - 1) / kTileRows;
    const std::int64_t column_tiles = (column.count + kTileColumns - 1) / kTileColumns;
    const std::int64_t tiles = row_tiles * column_tiles;
    const std::int64_t grain =
        kGrain / std::min(kTileRows, row.count) / std::min(kTileColumns, column.count);
    parallel_ranges(
        context.pool(), outer_count() * tiles, grain, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t unit = first; unit < last; ++unit) {
            const Offsets outer = outer_offsets(unit / tiles);
            const std::int64_t i = unit % tiles / column_tiles * kTileRows;
            const std::int64_t j = unit % column_tiles * kTileColumns;
            const auto size = static_cast<std::int64_t>(bytes);
            transpose_tile(
                bytes,
                {x.as<std::byte>() + (outer.source + j * column.source_stride + i) * size,
                 y.as_mutable<std::byte>() + (outer.target + i * row.target_stride + j) * size,
                 column.source_stride, row.target_stride, std::min(kTileColumns, column.count - j),
                 std::min(kTileRows, row.count - i)});
          }
        });
    return {};
  }

 private:
  struct Offsets {
    std::int64_t source = 0, target = 0;
  };

  // All axes but the two of the tiles.
  std::int64_t outer_count() const noexcept {
    std::int64_t count = 1;
    for (std::size_t a = 0; a + 1 < copy_.axes().size(); ++a)
      if (a != row_axis_) count *= copy_.axes()[a].count;
    return count;
  }
  Offsets outer_offsets(std::int64_t number) const noexcept {
    Offsets offsets;
    for (std::size_t a = copy_.axes().size() - 1; a-- > 0;) {
      if (a == row_axis_) continue;
      const StridedCopy::Axis& axis = copy_.axes()[a];
      offsets.source += number % axis.count * axis.source_stride;
      offsets.target += number % axis.count * axis.target_stride;
      number /= axis.count;
    }
    return offsets;
  }

  StridedCopy copy_;
  std::size_t row_axis_;
};

Result<std::unique_ptr<Kernel>> make_transpose_move(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const StridedCopy copy, transpose_copy(problem));
  const auto axes = copy.axes();
  // The order of memory stays, as from nhwc to a plain [N, H, W, C].
  if (axes.empty() || (axes.size() == 1 && axes[0].source_stride == 1))
    return make_view_copy(problem);
  if (!copy.empty())
    for (std::size_t a = 0; a + 1 < axes.size(); ++a)
      if (axes[a].source_stride == 1) return make_kernel<DirectTransposeKernel>(copy, a);
  return make_copy_kernel(copy);  // the last axis stays the last: runs
}

}  // namespace

Status register_routine_transpose_cpu_direct(Registry& registry) {
  return register_moves<make_transpose_move>(registry, "transpose", {.nhwc = true, .mixed = true});
}

}  // namespace softneuro
