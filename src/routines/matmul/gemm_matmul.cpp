#include "routines/matmul/gemm_matmul.h"

#include <algorithm>

#include "core/base/error.h"
#include "cpu/gemm/float_layer.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunkFloats = 512 * 1024;  // of both operands, packed at a time: 2 MiB

class GemmMatmulKernel final : public FloatLayerKernel {
 public:
  GemmMatmulKernel(const Problem& problem, const MatmulGeometry& geometry, int packed_side,
                   const PackedWeights& packed, PostOpProgram post_ops)
      : FloatLayerKernel(problem.outputs[0].type, std::move(post_ops)),
        g_(geometry),
        sides_{MatmulSide(geometry, problem, 0), MatmulSide(geometry, problem, 1)},
        has_bias_(problem.layer_inputs > kBias && problem.has_input(kBias)) {
    if (packed_side >= 0) packed_[packed_side] = packed.bytes;
    for (const Input side : {kX, kWeights})
      if (packed_[side].empty()) reserve_input(side, problem);
    if (has_bias_) reserve_input(kBias, problem);
    reserve_output(problem.outputs[0].shape.elements());
    row_ = packed_[0].empty() && g_.rows == 1 && g_.a_column == 1;
    if (row_) sides_[0].packed_floats = 0;
    direct_ = packed_[1].empty() && g_.rows <= kGemmRows && g_.b_column == 1;
    if (direct_) sides_[1].packed_floats = kGemmColumns * g_.depth;  // of the last columns only
    std::int64_t floats = 0;                                         // packed for one product
    for (const int side : {0, 1})
      if (packed_[side].empty()) floats += sides_[side].packed_floats;
    const std::int64_t batches = std::max<std::int64_t>(g_.batches(), 1);
    chunk_ = floats == 0 ? batches : std::clamp<std::int64_t>(kChunkFloats / floats, 1, batches);
    for (const int side : {0, 1})
      if (packed_[side].empty()) packed_at_[side] = reserve(chunk_ * sides_[side].packed_floats);
  }

  Status run(Context& context) const noexcept override {
    Operands operands = {};
    for (const Input side : {kX, kWeights})
      if (packed_[side].empty()) operands.from[side] = input(context, side);
    operands.bias = has_bias_ ? input(context, kBias) : nullptr;
    operands.y = output(context);
    const std::int64_t batches = g_.batches();
    for (std::int64_t first = 0; first < batches; first += chunk_) {
      const std::int64_t count = std::min(chunk_, batches - first);
      for (const int side : {0, 1})
        if (packed_[side].empty() && sides_[side].packed_floats > 0)
          pack_chunk(context, operands, side, first, count);
      multiply_chunk(context, operands, first, count);
    }
    return {};
  }

 private:
  // All in float32.
  struct Operands {
    const float* from[2];  // A and B; null: packed beforehand
    const float* bias;     // may be null
    float* y;
  };

  // Whole panels of B, which are read in place.
  std::int64_t direct_columns() const noexcept {
    return g_.depth == 0 ? 0 : g_.columns / kGemmColumns * kGemmColumns;
  }
  std::int64_t offset(int side, std::int64_t product) const noexcept {
    return side == 0 ? g_.a_offset(product) : g_.b_offset(product);
  }

  void pack_chunk(Context& context, const Operands& operands, int side, std::int64_t first,
                  std::int64_t count) const noexcept {
    const MatmulSide& s = sides_[side];
    const std::int64_t tile = side == 0 ? kGemmTileRows : kGemmTileColumns;
    const std::int64_t skipped = side == 1 && direct_ ? direct_columns() : 0;
    const std::int64_t tiles = (s.lanes - skipped + tile - 1) / tile;
    float* const to = workspace_of(context) + packed_at_[side];
    const float* const from = operands.from[side];
    parallel_for(context.pool(), count * tiles, [&](std::int64_t i) {
      const std::int64_t product = i / tiles, lane = skipped + i % tiles * tile;
      // A matrix that several products share in a row is packed for the first of them only.
      if (product > 0 && offset(side, first + product) == offset(side, first)) return;
      pack_lanes(s, side, from + offset(side, first + product), lane,
                 std::min(tile, s.lanes - lane), g_.depth,
                 to + product * s.packed_floats - skipped * g_.depth);
    });
  }

  const float* packed_matrix(Context& context, int side, std::int64_t first,
                             std::int64_t product) const noexcept {
    const MatmulSide& s = sides_[side];
    const std::int64_t at = offset(side, first + product);
    if (!packed_[side].empty())
      return static_cast<const float*>(packed_[side].data()) +
             at / (s.lanes * g_.depth) * s.packed_floats;
    const bool shared = at == offset(side, first);
    return workspace_of(context) + packed_at_[side] + (shared ? 0 : product) * s.packed_floats;
  }

  void multiply_chunk(Context& context, const Operands& operands, std::int64_t first,
                      std::int64_t count) const noexcept {
    const std::int64_t row_tiles = (g_.rows + kGemmTileRows - 1) / kGemmTileRows;
    const std::int64_t column_tiles = (g_.columns + kGemmTileColumns - 1) / kGemmTileColumns;
    parallel_for(context.pool(), count * row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t product = i / row_tiles / column_tiles;
      run_tile(context, operands, first, product, i % row_tiles * kGemmTileRows,
               i / row_tiles % column_tiles * kGemmTileColumns);
    });
  }

  void run_tile(Context& context, const Operands& operands, std::int64_t first,
                std::int64_t product, std::int64_t row, std::int64_t column) const noexcept {
    const std::int64_t columns = std::min(kGemmTileColumns, g_.columns - column);
    const std::int64_t at = ((first + product) * g_.rows + row) * g_.columns + column;
    GemmTask task;
    task.m = std::min(kGemmTileRows, g_.rows - row);
    task.n = columns;
    task.k = g_.depth;
    task.c = operands.y + at;
    task.c_row_stride = g_.columns;
    task.accumulate = operands.bias != nullptr;
    for (std::int64_t r = 0; task.accumulate && r < task.m; ++r)
      std::copy_n(operands.bias + column, columns, task.c + r * g_.columns);
    if (row_) {
      task.a = operands.from[kX] + offset(0, first + product);
      task.a_column_stride = 1;
    } else if (g_.depth > 0) {
      task.a = packed_matrix(context, 0, first, product) + row * g_.depth;
    }
    const std::int64_t direct =
        direct_ ? std::clamp<std::int64_t>(direct_columns() - column, 0, columns) : 0;
    if (direct > 0) {
      GemmTask part = task;
      part.n = direct;
      part.b = operands.from[kWeights] + offset(1, first + product) + column;
      part.b_row_stride = g_.b_row;
      part.b_panel_stride = kGemmColumns;
      gemm(part);
    }
    if (direct < columns) {
      task.n = columns - direct;
      task.c += direct;
      if (g_.depth > 0)
        task.b = packed_matrix(context, 1, first, product) + (direct_ ? 0 : column * g_.depth);
      gemm(task);
    }
    finish(context, operands.y, at, task.m, columns, g_.columns);
  }

  MatmulGeometry g_;
  MatmulSide sides_[2];  // A, B
  bool has_bias_;
  Tensor packed_[2];        // beforehand: all matrices of the operand; else empty
  bool row_ = false;        // A is a row, read in place
  bool direct_ = false;     // so is B
  std::int64_t chunk_ = 1;  // products at a time
  std::int64_t packed_at_[2] = {};
};

}  // namespace

MatmulSide::MatmulSide(const MatmulGeometry& g, const Problem& problem, int side)
    : lanes(side == 0 ? g.rows : g.columns),
      lane_stride(side == 0 ? g.a_row : g.b_column),
      depth_stride(side == 0 ? g.a_column : g.b_row),
      packed_floats(side == 0 ? packed_a_floats(lanes, g.depth) : packed_b_floats(g.depth, lanes)) {
  const std::int64_t elements = lanes * g.depth;
  if (elements > 0)
    matrices = problem.inputs[static_cast<std::size_t>(side)].shape.elements() / elements;
}

void pack_lanes(const MatmulSide& s, int side, const float* matrix, std::int64_t lane,
                std::int64_t count, std::int64_t depth, float* packed) noexcept {
  const float* const from = matrix + lane * s.lane_stride;
  if (side == 0)
    pack_a({from, s.lane_stride, s.depth_stride}, count, depth, packed + lane * depth);
  else
    pack_b({from, s.depth_stride, s.lane_stride}, depth, count, packed + lane * depth);
}

Result<std::unique_ptr<Kernel>> make_gemm_matmul(const Problem& problem,
                                                 const MatmulGeometry& geometry, int packed_side,
                                                 const PackedWeights& packed) {
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<GemmMatmulKernel>(problem, geometry, packed_side, packed, std::move(post_ops));
}

}  // namespace softneuro
