// matmul cpu:bfloat16/bf16: B is packed while running, rows of A are read in place, or turned
// if they are not contiguous.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/gemm/half_gemm.h"
#include "cpu/gemm/matmul_geometry.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kA, kB };

class PairOperands final : public GemmOperands<BFloat16> {
 public:
  explicit PairOperands(const MatmulGeometry& g) : g_(g) {}

  GemmMatrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t matrix =
        g_.b_offset(index) / std::max<std::int64_t>(g_.depth * g_.columns, 1);
    return {b + matrix * b_bytes, nullptr, index * g_.rows * g_.columns};
  }
  void point(const GemmRows& rows, const BFloat16** pointers, BFloat16*) const noexcept override {
    const BFloat16* const from = a + g_.a_offset(rows.matrix);
    for (int r = 0; r < rows.rows; ++r) pointers[r] = from + (rows.row + r) * a_row;
  }

  const BFloat16* a = nullptr;
  std::int64_t a_row = 0;  // from row to row
  const std::byte* b = nullptr;
  std::int64_t b_bytes = 0;  // of one matrix

 private:
  const MatmulGeometry& g_;
};

class PairMatmulKernel final : public Kernel {
 public:
  PairMatmulKernel(const Problem& problem, int threads, const HalfTileOps<BFloat16>& ops,
                   EpiloguePostOps post_ops)
      : g_(join_batches(matmul_geometry(problem))),
        gemm_(shape(), {.threads = threads}, ops),
        b_bytes_(product_bytes(shape(), ops)),
        post_ops_(std::move(post_ops)) {
    const std::int64_t a = problem.inputs[kA].shape.elements();
    a_matrices_ = a / std::max<std::int64_t>(g_.rows * g_.depth, 1);
    b_matrices_ =
        problem.inputs[kB].shape.elements() / std::max<std::int64_t>(g_.columns * g_.depth, 1);
    a_at_ = round_up(b_matrices_ * b_bytes_);
    bytes_ = a_at_ + (turns_a() ? a * 2 : 0);
  }

  std::size_t workspace_bytes() const noexcept override { return static_cast<std::size_t>(bytes_); }
  int in_place_input() const noexcept override { return post_ops_.in_place_input(); }

  Status run(Context& context) const noexcept override {
    std::byte* const packed = context.workspace();
    auto* const turned = reinterpret_cast<BFloat16*>(packed + a_at_);
    const auto* const a = context.input(kA).as<BFloat16>();
    pack(context, packed);
    if (turns_a()) turn(context, a, turned);
    PairOperands operands(g_);
    operands.a = turns_a() ? turned : a;
    operands.a_row = turns_a() ? g_.depth : g_.a_row;
    operands.b = packed;
    operands.b_bytes = b_bytes_;
    gemm_.run(context.pool(), context.inputs(), context.output(0).as_mutable<BFloat16>(), operands,
              post_ops_, nullptr);
    return {};
  }

 private:
  static std::int64_t round_up(std::int64_t bytes) noexcept {
    return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  GemmShape shape() const noexcept {
    GemmShape shape;
    shape.matrices = g_.batches();
    shape.rows = g_.rows;
    shape.columns = g_.columns;
    shape.length = g_.depth;
    shape.c_row_stride = g_.columns;
    return shape;
  }
  bool turns_a() const noexcept { return g_.a_column != 1; }

  void pack(Context& context, std::byte* to) const noexcept {
    const auto* const from = context.input(kB).as<std::uint16_t>();
    const std::int64_t parts = chunks_of(g_.columns, kColumnsTogether);
    const std::int64_t column_bytes = HalfTileOps<BFloat16>::panel_bytes(1, g_.depth) / kTilePanel;
    parallel_for(context.pool(), b_matrices_ * parts, [&](std::int64_t i) {
      const std::int64_t matrix = i / parts, column = i % parts * kColumnsTogether;
      pack_pairs(from + matrix * g_.depth * g_.columns + column * g_.b_column, g_.b_row,
                 g_.b_column, g_.depth, std::min(kColumnsTogether, g_.columns - column),
                 to + matrix * b_bytes_ + column * column_bytes);
    });
  }

  void turn(Context& context, const BFloat16* a, BFloat16* to) const noexcept {
    const std::int64_t parts = chunks_of(g_.rows, kRowsTogether);
    parallel_for(context.pool(), a_matrices_ * parts, [&](std::int64_t i) {
      const std::int64_t matrix = i / parts, row = i % parts * kRowsTogether;
      transpose_tiles().transpose(sizeof(BFloat16),
                                  {a + matrix * g_.rows * g_.depth + row * g_.a_row,
                                   to + (matrix * g_.rows + row) * g_.depth, g_.a_column, g_.depth,
                                   g_.depth, std::min(kRowsTogether, g_.rows - row)});
    });
  }

  MatmulGeometry g_;
  HalfGemm<BFloat16> gemm_;
  std::int64_t b_bytes_;
  EpiloguePostOps post_ops_;
  std::int64_t a_matrices_ = 0, b_matrices_ = 0;  // of the operands, without broadcasting
  std::int64_t a_at_ = 0, bytes_ = 0;             // of the workspace, which B begins
};

Applicability applicable(const Problem& problem) {
  for (const std::size_t input : {kA, kB})
    if (problem.inputs[input].type != DataType::bfloat16)
      return Applicability::no("needs bfloat16");
  return problem.inputs[kA].shape.elements() == 0 ? Applicability::no("nothing to multiply")
                                                  : Applicability::yes();
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  SN_ASSIGN_OR_RETURN(EpiloguePostOps post_ops,
                      EpiloguePostOps::create(problem, true, DataType::bfloat16));
  return make_kernel<PairMatmulKernel>(problem, context.threads(), *bf16_tile_ops(),
                                       std::move(post_ops));
}

}  // namespace

Status register_routine_matmul_cpu_bfloat16_bf16(Registry& registry) {
  const auto* const ops = bf16_tile_ops();
  if (ops == nullptr) return {};  // not in this build
  return add_routines(registry, {"matmul"}, {"cpu:bfloat16"}, "bf16",
                      {.facts = {.default_rank = 25, .needs = ops->needs},
                       .applicable = applicable,
                       .supports_post_ops = PostOpProgram::supports_in_float32,
                       .create_with = create});
}

}  // namespace softneuro
