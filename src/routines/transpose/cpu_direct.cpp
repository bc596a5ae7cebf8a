// transpose cpu/direct: adjacent axes merged; where the innermost axis changes, tiles of the two
// axes that are contiguous on one side each, so that both sides are read and written by lines.
#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/registry.h"
#include "routines/transpose/axes.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t kTileColumns = 512;
constexpr std::int64_t kGrain = 8192;  // elements

// target[i · target_stride + j] = source[j · source_stride + i], counted in elements.
struct Tile {
  const std::byte* source;
  std::byte* target;
  std::int64_t source_stride;
  std::int64_t target_stride;
};

template <std::size_t bytes>
void transpose_scalar(const Tile& t, std::int64_t first_row, std::int64_t last_row,
                      std::int64_t first_column, std::int64_t last_column) noexcept {
  constexpr auto size = static_cast<std::int64_t>(bytes);
  for (std::int64_t i = first_row; i < last_row; ++i)
    for (std::int64_t j = first_column; j < last_column; ++j)
      std::memcpy(t.target + (i * t.target_stride + j) * size,
                  t.source + (j * t.source_stride + i) * size, bytes);
}

using Four = std::uint32_t __attribute__((vector_size(16)));

// 4 × 4 elements of 4 bytes, through registers.
void transpose_four(const Tile& t, std::int64_t i, std::int64_t j) noexcept {
  Four v[4];
  for (std::int64_t k = 0; k < 4; ++k)
    std::memcpy(&v[k], t.source + ((j + k) * t.source_stride + i) * 4, sizeof(Four));
  const Four low01 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  for (std::int64_t k = 0; k < 4; ++k)
    std::memcpy(t.target + ((i + k) * t.target_stride + j) * 4, &v[k], sizeof(Four));
}

void transpose_words(const Tile& t, std::int64_t rows, std::int64_t columns) noexcept {
  const std::int64_t even_rows = rows / 4 * 4, even_columns = columns / 4 * 4;
  for (std::int64_t j = 0; j < even_columns; j += 4)
    for (std::int64_t i = 0; i < even_rows; i += 4) transpose_four(t, i, j);
  transpose_scalar<4>(t, even_rows, rows, 0, even_columns);
  transpose_scalar<4>(t, 0, rows, even_columns, columns);
}

void transpose_tile(const Tile& t, std::int64_t rows, std::int64_t columns,
                    std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      return transpose_scalar<1>(t, 0, rows, 0, columns);
    case 2:
      return transpose_scalar<2>(t, 0, rows, 0, columns);
    case 4:
      return transpose_words(t, rows, columns);
    default:
      return transpose_scalar<8>(t, 0, rows, 0, columns);
  }
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
            const Tile tile = {
                x.as<std::byte>() + (outer.source + j * column.source_stride + i) * size,
                y.as_mutable<std::byte>() + (outer.target + i * row.target_stride + j) * size,
                column.source_stride, row.target_stride};
            transpose_tile(tile, std::min(kTileRows, row.count - i),
                           std::min(kTileColumns, column.count - j), bytes);
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

class DirectTranspose final : public Routine {
 public:
  DirectTranspose() : Routine("transpose", "cpu/direct") {}
  int default_rank() const override { return 10; }
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const StridedCopy copy, transpose_copy(problem));
    const auto axes = copy.axes();
    if (!copy.empty())
      for (std::size_t a = 0; a + 1 < axes.size(); ++a)
        if (axes[a].source_stride == 1)
          return std::unique_ptr<Kernel>(std::make_unique<DirectTransposeKernel>(copy, a));
    return make_copy_kernel(copy);  // the last axis stays the last: runs
  }
};

}  // namespace

Status register_routine_transpose_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectTranspose>());
}

}  // namespace softneuro
