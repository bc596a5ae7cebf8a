// matmul cpu/tiled, cpu:float16/tiled and cpu:bfloat16/tiled: B is packed while running, rows of A
// are read in place. 16-bit types are converted; sums are in float32.
//
// Routine parameter: pack (0 or 1), whether B is packed where it could be read in place.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/routine/registry.h"
#include "cpu/gemm/blocked_gemm.h"
#include "cpu/gemm/float_layer.h"
#include "cpu/gemm/matmul_geometry.h"
#include "cpu/simd/span_ops.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {
namespace {

constexpr std::int64_t kFewRows = 2 * kTileMaxRows;  // packing B does not pay
constexpr std::int64_t kNarrow = 4 * kTilePanel;     // B's rows are hardly apart

// Whole panels, row after row: the kernels can read B as it is.
bool is_readable(const MatmulGeometry& g) {
  return g.b_column == 1 && g.columns % kTilePanel == 0;
}

bool packs_by_default(const MatmulGeometry& g) {
  return !is_readable(g) || (g.rows > kFewRows && g.columns > kNarrow);
}

// A factor that stands first among the post-ops, as in attention, is put on B while it is packed.
// Not one that could take a normal number out of the range.
bool is_mild_factor(const PostOp& op) {
  constexpr float kMost = 65536;
  if (op.kind != PostOp::Kind::unary || op.unary != UnaryOp::linear || op.beta != 0) return false;
  return std::abs(op.alpha) <= kMost && std::abs(op.alpha) >= 1 / kMost;
}

// The matrices of all products, or of one.
class MatmulOperands final : public GemmOperands<float> {
 public:
  MatmulOperands(const MatmulGeometry& g, std::int64_t first) : g_(g), first_(first) {}

  GemmMatrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t product = first_ + index;
    std::int64_t at = g_.b_offset(product);
    if (packed_floats > 0) at = at / (g_.depth * g_.columns) * packed_floats;
    return {reinterpret_cast<const std::byte*>(b + at), nullptr, product * g_.rows * g_.columns};
  }
  void point(const GemmRows& rows, const float** pointers, float*) const noexcept override {
    const float* const from = a + g_.a_offset(first_ + rows.matrix);
    for (int r = 0; r < rows.rows; ++r) pointers[r] = from + (rows.row + r) * a_row;
  }

  const float* a = nullptr;
  const float* b = nullptr;
  std::int64_t a_row = 0;          // from row to row
  std::int64_t packed_floats = 0;  // of one matrix of B; 0: in place

 private:
  const MatmulGeometry& g_;
  std::int64_t first_;
};

class TiledMatmulKernel final : public FloatLayerKernel {
 public:
  // factor: of B, 1 if it is not packed.
  TiledMatmulKernel(const Problem& problem, int threads, bool packs, float factor,
                    EpiloguePostOps post_ops)
      : FloatLayerKernel(problem.outputs[0].type, {}),
        g_(join_batches(matmul_geometry(problem))),
        packs_(packs),
        factor_(factor),
        one_(shape(1), GemmLimits(), micro_kernels()),
        all_(shape(g_.batches()), {.threads = threads}, micro_kernels()),
        post_ops_(std::move(post_ops)) {
    const std::int64_t a = problem.inputs[kX].shape.elements();
    const std::int64_t b = problem.inputs[kWeights].shape.elements();
    if (g_.depth > 0) {
      a_matrices_ = a / std::max<std::int64_t>(g_.rows * g_.depth, 1);
      b_matrices_ = b / std::max<std::int64_t>(g_.columns * g_.depth, 1);
    }
    if (packs_) b_packed_at_ = reserve(b_matrices_ * packed_floats());
    if (turns_a()) a_turned_at_ = reserve(a);
    reserve_input(kX, problem);
    reserve_input(kWeights, problem);
    reserve_output(problem.outputs[0].shape.elements());
  }

  int in_place_input() const noexcept override { return post_ops_.in_place_input(); }

  Status run(Context& context) const noexcept override {
    float* const workspace = workspace_of(context);
    const Buffers m = {input(context, kX), input(context, kWeights), workspace + a_turned_at_,
                       workspace + b_packed_at_, output(context)};
    if (goes_by_products(context.pool().concurrency()))
      run_by_products(context, m);
    else
      run_together(context, m);
    if (type() != DataType::float32)
      store_floats(context.pool(), type(), m.y, context.output(0).data,
                   context.output(0).shape.elements());
    return {};
  }

 private:
  struct Buffers {
    const float* a;
    const float* b;
    float* a_turned;
    float* b_packed;
    float* y;
  };

  GemmShape shape(std::int64_t matrices) const {
    GemmShape shape;
    shape.matrices = matrices;
    shape.rows = g_.rows;
    shape.columns = g_.columns;
    shape.length = g_.depth;
    shape.c_row_stride = g_.columns;
    if (!packs_) {
      shape.b_row_stride = g_.b_row;
      shape.b_panel_stride = kTilePanel;
    }
    return shape;
  }
  std::int64_t packed_floats() const noexcept { return packed_b_floats(g_.depth, g_.columns); }
  // A's rows are not contiguous: they are copied.
  bool turns_a() const noexcept { return g_.a_column != 1; }

  // Whether one thread packs and multiplies what belongs to a product, which then is in its cache.
  // Otherwise all are packed first. That makes no difference to any result.
  bool goes_by_products(std::int64_t threads) const noexcept {
    const std::int64_t batches = g_.batches();
    if (packs_ && b_matrices_ != batches) return false;
    if (turns_a() && a_matrices_ != batches) return false;
    return batches % threads == 0 || batches >= 4 * threads;
  }

  void run_by_products(Context& context, const Buffers& m) const noexcept {
    parallel_for(context.pool(), g_.batches(), [&](std::int64_t i) {
      if (packs_)
        for (std::int64_t c = 0; c < g_.columns; c += kColumnsTogether) pack_columns(m, i, c);
      if (turns_a()) turn_rows(m, i, 0, g_.rows);
      multiply(one_, context, m, i);
    });
  }

  void run_together(Context& context, const Buffers& m) const noexcept {
    if (packs_) {
      const std::int64_t parts = chunks_of(g_.columns, kColumnsTogether);
      parallel_for(context.pool(), b_matrices_ * parts, [&](std::int64_t i) {
        pack_columns(m, i / parts, i % parts * kColumnsTogether);
      });
    }
    if (turns_a()) {
      const std::int64_t parts = chunks_of(g_.rows, kRowsTogether);
      parallel_for(context.pool(), a_matrices_ * parts, [&](std::int64_t i) {
        const std::int64_t row = i % parts * kRowsTogether;
        turn_rows(m, i / parts, row, std::min(kRowsTogether, g_.rows - row));
      });
    }
    multiply(all_, context, m, 0);
  }

  void pack_columns(const Buffers& m, std::int64_t matrix, std::int64_t column) const noexcept {
    const float* const from = m.b + matrix * g_.depth * g_.columns + column * g_.b_column;
    float* const to = m.b_packed + matrix * packed_floats() + column * g_.depth;
    const std::int64_t columns = std::min(kColumnsTogether, g_.columns - column);
    pack_b({from, g_.b_row, g_.b_column}, g_.depth, columns, to);
    if (factor_ != 1)
      span_ops().unary(UnaryOp::linear, to, to, packed_b_floats(g_.depth, columns), factor_, 0);
  }

  void turn_rows(const Buffers& m, std::int64_t matrix, std::int64_t row,
                 std::int64_t rows) const noexcept {
    const float* const from = m.a + matrix * g_.rows * g_.depth + row * g_.a_row;
    float* const to = m.a_turned + (matrix * g_.rows + row) * g_.depth;
    transpose_tiles().transpose(sizeof(float), {from, to, g_.a_column, g_.depth, g_.depth, rows});
  }

  void multiply(const BlockedGemm& gemm, Context& context, const Buffers& m,
                std::int64_t first) const noexcept {
    MatmulOperands operands(g_, first);
    operands.a = turns_a() ? m.a_turned : m.a;
    operands.a_row = turns_a() ? g_.depth : g_.a_row;
    operands.b = packs_ ? m.b_packed : m.b;
    operands.packed_floats = packs_ ? packed_floats() : 0;
    gemm.run(context.pool(), context.inputs(), m.y, operands, post_ops_);
  }

  MatmulGeometry g_;
  bool packs_;
  float factor_;
  BlockedGemm one_, all_;  // products
  EpiloguePostOps post_ops_;
  std::int64_t a_matrices_ = 0, b_matrices_ = 0;  // of the operands, without broadcasting
  std::int64_t a_turned_at_ = 0, b_packed_at_ = 0;
};

class TiledMatmulImplementation final : public Implementation {
 public:
  TiledMatmulImplementation(ProblemPtr problem, const RoutineContext& context)
      : Implementation(std::move(problem), context),
        geometry_(join_batches(matmul_geometry(this->problem()))) {}

  RoutineParams default_params() const override {
    RoutineParams params;
    params.set("pack", usual());
    return params;
  }
  ParamSpace param_space() const override {
    ParamAxis pack{"pack", {usual()}};
    if (is_readable(geometry_) && geometry_.rows > 1)
      pack.values = {std::int64_t{0}, std::int64_t{1}};
    ParamSpace space;
    space.axes = {std::move(pack)};
    return space;
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    const bool packs = !is_readable(geometry_) || params.integer("pack", usual()) != 0;
    Problem rest = problem();
    float factor = 1;
    if (packs && !rest.post_ops.empty() && is_mild_factor(rest.post_ops.front())) {
      factor = rest.post_ops.front().alpha;
      rest.post_ops.erase(rest.post_ops.begin());
    }
    const bool is_float32 = problem().inputs[0].type == DataType::float32;
    SN_ASSIGN_OR_RETURN(EpiloguePostOps post_ops, EpiloguePostOps::create(rest, is_float32));
    return make_kernel<TiledMatmulKernel>(problem(), context().threads(), packs, factor,
                                          std::move(post_ops));
  }

 private:
  std::int64_t usual() const { return packs_by_default(geometry_) ? 1 : 0; }

  MatmulGeometry geometry_;
};

class TiledMatmul final : public FusesPostOps<PostOpProgram::supports_in_float32, Routine> {
 public:
  explicit TiledMatmul(DataType type)
      : FusesPostOps("matmul", fmt::format("cpu:{}/tiled", to_string(type))) {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }

 protected:
  Applicability applicable(const Problem& problem) const override {
    const DataType type = descriptor().type;
    const bool is_mine = problem.inputs[0].type == type && problem.inputs[1].type == type;
    return is_mine ? Applicability::yes()
                   : Applicability::no(fmt::format("needs {}", to_string(type)));
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<TiledMatmulImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_matmul_cpu_tiled(Registry& registry) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<TiledMatmul>(type)));
  return {};
}

}  // namespace softneuro
