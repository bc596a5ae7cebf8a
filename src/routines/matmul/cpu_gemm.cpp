// matmul cpu/gemm: batches of products, packed in chunks and multiplied in tiles. A constant
// operand is packed beforehand, once for each of its own matrices. A single row is read where it
// lies, and so is a row-major B that few rows meet. float32 only.
#include <algorithm>

#include "core/base/element.h"
#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/matmul/geometry.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTileRows = 96, kTileColumns = 128;
static_assert(kTileRows % kGemmRows == 0 && kTileColumns % kGemmColumns == 0);
constexpr std::int64_t kChunkFloats = 512 * 1024;  // of both operands, packed at a time: 2 MiB

// One side of the product: its own matrices, and how they lie in memory.
struct Side {
  std::int64_t lanes = 0;          // rows of A, columns of B
  std::int64_t lane_stride = 0;    // from one to the next
  std::int64_t depth_stride = 0;   // along the sum
  std::int64_t matrices = 0;       // in the operand, without broadcasting
  std::int64_t packed_floats = 0;  // of one matrix
};

MatrixView view_of_lane(const Side& side, const float* matrix, std::int64_t lane, bool is_a) {
  const float* const data = matrix + lane * side.lane_stride;
  return is_a ? MatrixView{data, side.lane_stride, side.depth_stride}
              : MatrixView{data, side.depth_stride, side.lane_stride};
}

// Lanes [lane, lane + count) of one matrix; `lane` begins a panel.
void pack_lanes(const Side& side, bool is_a, const float* matrix, std::int64_t lane,
                std::int64_t count, std::int64_t depth, float* packed) noexcept {
  const MatrixView view = view_of_lane(side, matrix, lane, is_a);
  if (is_a)
    pack_a(view, count, depth, packed + lane * depth);
  else
    pack_b(view, depth, count, packed + lane * depth);
}

Side side_of(const MatmulGeometry& g, const Shape& shape, bool is_a) {
  Side side;
  side.lanes = is_a ? g.rows : g.columns;
  side.lane_stride = is_a ? g.a_row : g.b_column;
  side.depth_stride = is_a ? g.a_column : g.b_row;
  const std::int64_t elements = side.lanes * g.depth;
  side.matrices = elements == 0 ? 0 : shape.elements() / elements;
  side.packed_floats =
      is_a ? packed_a_floats(g.rows, g.depth) : packed_b_floats(g.depth, g.columns);
  return side;
}

class GemmMatmulKernel final : public Kernel {
 public:
  GemmMatmulKernel(const MatmulGeometry& geometry, const Side& a, const Side& b, Tensor packed_a,
                   Tensor packed_b, PostOpProgram post_ops)
      : g_(geometry),
        sides_{a, b},
        packed_{std::move(packed_a), std::move(packed_b)},
        post_ops_(std::move(post_ops)) {
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
      if (packed_[side].empty()) at_[side] = regions_.add(chunk_ * sides_[side].packed_floats);
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }

  Status run(Context& context) const noexcept override {
    const std::int64_t batches = g_.batches();
    for (std::int64_t first = 0; first < batches; first += chunk_) {
      const std::int64_t count = std::min(chunk_, batches - first);
      for (const int side : {0, 1})
        if (packed_[side].empty() && sides_[side].packed_floats > 0)
          pack_chunk(context, side, first, count);
      multiply_chunk(context, first, count);
    }
    return {};
  }

 private:
  // Whole panels of B, which are read where they lie.
  std::int64_t direct_columns() const noexcept {
    return g_.depth == 0 ? 0 : g_.columns / kGemmColumns * kGemmColumns;
  }
  std::int64_t offset(int side, std::int64_t product) const noexcept {
    return side == 0 ? g_.a_offset(product) : g_.b_offset(product);
  }

  void pack_chunk(Context& context, int side, std::int64_t first,
                  std::int64_t count) const noexcept {
    const Side& s = sides_[side];
    const std::int64_t tile = side == 0 ? kTileRows : kTileColumns;
    const std::int64_t skipped = side == 1 && direct_ ? direct_columns() : 0;
    const std::int64_t tiles = (s.lanes - skipped + tile - 1) / tile;
    float* const to = reinterpret_cast<float*>(context.workspace()) + at_[side];
    const float* const from = context.input(static_cast<std::size_t>(side)).as<float>();
    parallel_for(context.pool(), count * tiles, [&](std::int64_t i) {
      const std::int64_t product = i / tiles, lane = skipped + i % tiles * tile;
      // A matrix that several products share in a row is packed for the first of them only.
      if (product > 0 && offset(side, first + product) == offset(side, first)) return;
      pack_lanes(s, side == 0, from + offset(side, first + product), lane,
                 std::min(tile, s.lanes - lane), g_.depth,
                 to + product * s.packed_floats - skipped * g_.depth);
    });
  }

  const float* packed_matrix(Context& context, int side, std::int64_t first,
                             std::int64_t product) const noexcept {
    const Side& s = sides_[side];
    const std::int64_t at = offset(side, first + product);
    if (!packed_[side].empty())
      return static_cast<const float*>(packed_[side].data()) +
             at / (s.lanes * g_.depth) * s.packed_floats;
    const bool shared = at == offset(side, first);
    return reinterpret_cast<const float*>(context.workspace()) + at_[side] +
           (shared ? 0 : product) * s.packed_floats;
  }

  void multiply_chunk(Context& context, std::int64_t first, std::int64_t count) const noexcept {
    const std::int64_t row_tiles = (g_.rows + kTileRows - 1) / kTileRows;
    const std::int64_t column_tiles = (g_.columns + kTileColumns - 1) / kTileColumns;
    parallel_for(context.pool(), count * row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t product = i / row_tiles / column_tiles;
      run_tile(context, first, product, i % row_tiles * kTileRows,
               i / row_tiles % column_tiles * kTileColumns);
    });
  }

  void run_tile(Context& context, std::int64_t first, std::int64_t product, std::int64_t row,
                std::int64_t column) const noexcept {
    const std::int64_t columns = std::min(kTileColumns, g_.columns - column);
    const std::int64_t at = ((first + product) * g_.rows + row) * g_.columns + column;
    GemmTask task;
    task.m = std::min(kTileRows, g_.rows - row);
    task.n = columns;
    task.k = g_.depth;
    task.a_panel_stride = kGemmRows * g_.depth;
    task.b_panel_stride = kGemmColumns * g_.depth;
    task.c = context.output(0).as_mutable<float>() + at;
    task.c_row_stride = g_.columns;
    if (row_) {
      task.a = context.input(0).as<float>() + offset(0, first + product);
      task.a_column_stride = 1;
    } else if (g_.depth > 0) {
      task.a = packed_matrix(context, 0, first, product) + row * g_.depth;
    }
    const std::int64_t direct =
        direct_ ? std::clamp<std::int64_t>(direct_columns() - column, 0, columns) : 0;
    if (direct > 0) {
      GemmTask part = task;
      part.n = direct;
      part.b = context.input(1).as<float>() + offset(1, first + product) + column;
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
      task.c -= direct;
    }
    for (std::int64_t r = 0; r < task.m; ++r)
      post_ops_.apply(context.inputs(), task.c + r * g_.columns, at + r * g_.columns, columns);
  }

  MatmulGeometry g_;
  Side sides_[2];     // A, B
  Tensor packed_[2];  // of constant operands: all matrices of the operand; else empty
  PostOpProgram post_ops_;
  bool row_ = false;        // A is a row, read where it lies
  bool direct_ = false;     // so is B
  std::int64_t chunk_ = 1;  // products at a time
  FloatRegions regions_;
  std::int64_t at_[2] = {};
};

class GemmMatmul final : public FusesPostOps<PostOpProgram::supports> {
 public:
  GemmMatmul() : FusesPostOps("matmul", "cpu/gemm") {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("only float32");
    return Applicability::yes();
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const int side = constant_side(problem);
    if (side < 0) return 0;
    const Shape& shape = problem.inputs[static_cast<std::size_t>(side)].shape;
    const Side s = side_of(matmul_geometry(problem), shape, side == 0);
    return static_cast<std::size_t>(s.matrices * s.packed_floats) * sizeof(float);
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator&,
              std::byte* packed) const override {
    const int side = constant_side(problem);
    const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
    const MatmulGeometry g = matmul_geometry(problem);
    const Side s = side_of(g, spec.shape, side == 0);
    const auto* const from = static_cast<const float*>(spec.value.data());
    for (std::int64_t i = 0; i < s.matrices; ++i)
      pack_lanes(s, side == 0, from + i * s.lanes * g.depth, 0, s.lanes, g.depth,
                 reinterpret_cast<float*>(packed) + i * s.packed_floats);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    const int side = constant_side(problem);
    MatmulGeometry g = matmul_geometry(problem);
    if (side != 0) g = join_batches(g);  // a packed A stays as it is
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<GemmMatmulKernel>(g, side_of(g, problem.inputs[0].shape, true),
                                         side_of(g, problem.inputs[1].shape, false),
                                         side == 0 ? packed.bytes : Tensor(),
                                         side == 1 ? packed.bytes : Tensor(), std::move(post_ops));
  }

 private:
  // The operand that is packed beforehand; −1: none. Two constants would have been folded.
  static int constant_side(const Problem& problem) {
    for (const int side : {1, 0}) {
      const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
      if (spec.constant && !spec.value.empty()) return side;
    }
    return -1;
  }
};

}  // namespace

Status register_routine_matmul_cpu_gemm(Registry& registry) {
  return registry.add(std::make_unique<GemmMatmul>());
}

}  // namespace softneuro
