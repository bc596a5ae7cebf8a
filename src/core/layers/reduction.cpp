#include "core/layers/reduction.h"

#include "core/base/element.h"
#include "core/graph/enum_param.h"

namespace softneuro {

Result<ReduceOp> parse_reduce_op(const Params& params) {
  static constexpr std::string_view kNames[] = {
      "sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"};
  SN_ASSIGN_OR_RETURN(const int index, choice_of(params, "op", kNames));
  return static_cast<ReduceOp>(index);
}

Result<std::uint32_t> reduced_axes(const Params& params, std::span<const std::int64_t> axes,
                                   int rank) {
  if (rank > kMaxRank)
    return unsupported("a tensor of rank {}, at most {} are supported", rank, kMaxRank);
  if (axes.empty()) return params.integer("noop_with_empty_axes") != 0 ? 0u : (1u << rank) - 1u;
  std::uint32_t mask = 0;
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return invalid_argument("axes: {} lies outside [{}, {}) of a tensor of rank {}", axis, -rank,
                              rank, rank);
    const std::uint32_t bit = 1u << (axis < 0 ? axis + rank : axis);
    if ((mask & bit) != 0) return invalid_argument("axes: {} is given twice", axis);
    mask |= bit;
  }
  return mask;
}

ReductionPlan plan_reduction(const Shape& shape, std::uint32_t axes) noexcept {
  ReductionPlan plan;
  const Shape strides = strides_of(shape);
  int previous = -1;  // kind of the axis before: 1 gone, 0 kept
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const int kind = static_cast<int>(axes >> d & 1u);
    Shape& dims = kind == 1 ? plan.gone : plan.kept;
    Shape& steps = kind == 1 ? plan.gone_strides : plan.kept_strides;
    if (kind == previous) {
      dims[dims.rank() - 1] *= shape[d];
      steps[steps.rank() - 1] = strides[d];
    } else {
      dims.push_back(shape[d]);
      steps.push_back(strides[d]);
    }
    previous = kind;
  }
  return plan;
}

}  // namespace softneuro
