// reduce cpu/direct: float32; float16 and bfloat16 through float32 in the workspace. Where the last
// axis in memory goes, one result is made of vectors along it; where it stays, a vector holds
// neighbouring results. Any set of axes; in the other layouts over all but the channels, the
// reduced dimensions being kept as 1.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/layers/reduction.h"
#include "core/routine/function_routine.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"
#include "cpu/tensor/memory_order.h"
#include "routines/add_each.h"
#include "routines/reduce/folds.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Folds, kFolds, folds)

namespace {

constexpr std::int64_t kElements = 8192;  // per task, at least
constexpr std::int64_t kColumns = 64;     // results per task, at most

Fold fold_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::max:
    case ReduceOp::log_sum_exp:  // first of all the largest
      return Fold::max;
    case ReduceOp::min:
      return Fold::min;
    case ReduceOp::l1:
      return Fold::abs_sum;
    case ReduceOp::l2:
    case ReduceOp::sum_square:
      return Fold::square_sum;
    default:
      return Fold::sum;
  }
}

// Dimensions and reduced axes in the order of memory. Where that is not plain, channels stay.
struct StoredReduction {
  Shape shape;
  std::uint32_t axes = 0;
};

StoredReduction in_memory_order(const Shape& shape, std::uint32_t axes, Layout layout) {
  StoredReduction stored{stored_shape(shape, layout)};
  for (int d = 0; d < shape.rank(); ++d)
    stored.axes |= (axes >> d & 1u) << stored_axis(d, shape.rank(), layout);
  return stored;
}

class DirectReduceKernel final : public FloatWorkspaceKernel {
 public:
  DirectReduceKernel(ReduceOp op, const StoredReduction& stored, bool converts)
      : op_(op), plan_(plan_reduction(stored.shape, stored.axes)), converts_(converts) {
    run_.rank = plan_.gone.rank();
    for (int d = 0; d < run_.rank; ++d) {
      run_.dims[d] = plan_.gone[d];
      run_.strides[d] = plan_.gone_strides[d];
    }
    addends_ = plan_.gone.elements();
    results_ = plan_.kept.elements();
    is_along_ = run_.rank > 0 && run_.strides[run_.rank - 1] == 1;
    if (const int rank = plan_.kept.rank(); rank > 0) result_stride_ = plan_.kept_strides[rank - 1];
    if (!converts) return;
    reserve(results_ * addends_);
    results_at_ = reserve(results_);
  }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (results_ == 0) return {};
    if (!converts_) {
      run_float32(context.pool(), x.as<float>(), y.as_mutable<float>());
      return {};
    }
    float* workspace = workspace_of(context);
    load_floats(context.pool(), x.type, x.data, workspace, results_ * addends_);
    run_float32(context.pool(), workspace, workspace + results_at_);
    store_floats(context.pool(), y.type, workspace + results_at_, y.data, results_);
    return {};
  }

 private:
  void run_float32(ThreadPool& pool, const float* x, float* y) const noexcept {
    // Tasks: `width` neighbouring results, never beyond the end of a row of results.
    const std::int64_t row = plan_.kept.rank() == 0 ? 1 : last_kept();
    const std::int64_t most = std::min(kColumns, row),
                       addends = std::max<std::int64_t>(1, addends_);
    const std::int64_t width =
        is_along_ ? std::clamp<std::int64_t>(kElements / addends, 1, most) : most;
    const std::int64_t per_row = (row + width - 1) / width;
    const std::int64_t grain = kElements / (addends * width);
    parallel_ranges(pool, results_ / row * per_row, grain,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t task = first; task < last; ++task) {
                        const std::int64_t column = task % per_row * width;
                        reduce(x, y, task / per_row * row + column, std::min(width, row - column));
                      }
                    });
  }

  std::int64_t last_kept() const noexcept { return plan_.kept[plan_.kept.rank() - 1]; }

  // Results [first, first + width), all of one row of results.
  void reduce(const float* x, float* y, std::int64_t first, std::int64_t width) const noexcept {
    std::int64_t rest = first;
    for (int d = plan_.kept.rank() - 1; d >= 0; --d) {
      x += rest % plan_.kept[d] * plan_.kept_strides[d];
      rest /= plan_.kept[d];
    }
    float largest[kColumns] = {};
    fold(fold_of(op_), x, y + first, width);
    if (op_ == ReduceOp::log_sum_exp) {
      std::copy_n(y + first, width, largest);
      fold(Fold::exp_sum, x, y + first, width);
    }
    for (std::int64_t i = 0; i < width; ++i)
      y[first + i] = op_ == ReduceOp::l2 ? root(y[first + i], x + i * result_stride_)
                                         : finish(y[first + i], largest[i]);
  }

  // √Σ x². Where squares may have left the range of float32, summed again in double.
  float root(float squares, const float* x) const noexcept {
    if (squares > 1e-30f && squares < 1e37f) return std::sqrt(squares);
    double sum = 0;
    Shape index = plan_.gone;
    for (int d = 0; d < index.rank(); ++d) index[d] = 0;
    if (addends_ > 0) do {
        const double v = static_cast<double>(x[offset_of(index, plan_.gone_strides)]);
        sum += v * v;
      } while (next_index(index, plan_.gone));
    return static_cast<float>(std::sqrt(sum));
  }

  void fold(Fold fold, const float* x, float* y, std::int64_t width) const noexcept {
    if (!is_along_) return folds().across(fold, x, y, width, run_);
    for (std::int64_t i = 0; i < width; ++i)
      y[i] = folds().along(fold, x + i * result_stride_, run_, y[i]);
  }

  float finish(float folded, float largest) const noexcept {
    switch (op_) {
      case ReduceOp::mean:
        return folded / static_cast<float>(addends_);
      case ReduceOp::log_sum:
        return std::log(folded);
      case ReduceOp::log_sum_exp:
        return std::isinf(largest) ? largest : largest + std::log(folded);
      default:
        return folded;
    }
  }

  ReduceOp op_;
  ReductionPlan plan_;
  FoldRun run_;
  std::int64_t addends_, results_;
  std::int64_t result_stride_ = 1;  // between neighbouring results, in x
  bool is_along_, converts_;
  std::int64_t results_at_ = 0;  // in the workspace, behind the converted input
};

Result<std::uint32_t> axes_of(const Problem& problem) {
  return reduced_axes(problem.params, problem.integers(1), problem.inputs[0].shape.rank());
}

Applicability applicable(const Problem& problem) {
  const auto op = parse_reduce_op(problem.params);
  if (!op.ok()) return Applicability::no(op.status().message());
  if (!is_span_float(problem.inputs[0].type))
    return Applicability::no("input 0 is not float32, float16 or bfloat16");
  if (*op == ReduceOp::prod)
    return Applicability::no("products are not supported: float32 may overflow on the way");
  if (problem.inputs[0].layout == Layout::plain) return Applicability::yes();
  const auto axes = axes_of(problem);
  if (!axes.ok()) return Applicability::no(axes.status().message());
  if ((*axes & 2u) != 0) return Applicability::no("reducing the channels is not supported");
  // What is left of N and C alone has them in the same order. Other axes stand before C in
  // memory.
  const int rank = problem.inputs[0].shape.rank();
  const std::uint32_t all_axes = (1u << rank) - 1;
  const bool is_plain = *axes >> 2 == all_axes >> 2 && block_of(problem.inputs[0].layout) == 1;
  if (problem.params.integer("keepdims") == 0 && !is_plain)
    return Applicability::no("the layout needs keepdims");
  if (problem.inputs[0].shape.rank() >= kMaxRank)
    return Applicability::no("so many dimensions are not supported");
  const bool is_logarithm = *op == ReduceOp::log_sum || *op == ReduceOp::log_sum_exp;
  if (is_logarithm && problem.inputs[0].shape[1] % block_of(problem.inputs[0].layout) != 0)
    return Applicability::no("the logarithm of channels that are padding is not zero");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ReduceOp op, parse_reduce_op(problem.params));
  SN_ASSIGN_OR_RETURN(const std::uint32_t axes, axes_of(problem));
  return make_kernel<DirectReduceKernel>(
      op, in_memory_order(problem.inputs[0].shape, axes, problem.inputs[0].layout),
      problem.inputs[0].type != DataType::float32);
}

}  // namespace

Status register_routine_reduce_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"reduce"}, kFloatSchemas, "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_reduce});
}

}  // namespace softneuro
