// reduce cpu/pool: the mean or the largest over all spatial axes of x[N,C,S…], seen as a pool whose
// window is the whole plane. float32, float16, bfloat16 and qint8, in any layout.
#include "core/layers/reduction.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "routines/add_each.h"
#include "routines/max_pool2/direct_pool.h"

namespace softneuro {
namespace {

Window whole_plane(const Shape& x) {
  Window window;
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  for (std::size_t i = 0; i < axes; ++i) {
    WindowAxis& axis = window.axes[kMaxSpatialAxes - axes + i];
    axis.input = axis.kernel = x[static_cast<int>(i) + 2];
  }
  return window;
}

Applicability applicable(const Problem& problem) {
  const auto op = parse_reduce_op(problem.params);
  if (!op.ok()) return Applicability::no(op.status().message());
  if (*op != ReduceOp::mean && *op != ReduceOp::max)
    return Applicability::no("needs the reduction mean or max");
  const Shape& x = problem.inputs[0].shape;
  if (x.rank() < 3 || x.rank() > 2 + kMaxSpatialAxes)
    return Applicability::no("needs one to three spatial axes");
  if (x.elements() == 0) return Applicability::no("no elements");
  const auto axes = reduced_axes(problem.params, problem.integers(1), x.rank());
  if (!axes.ok()) return Applicability::no(axes.status().message());
  if (*axes != (1u << x.rank()) - 4)
    return Applicability::no("needs a reduction over exactly the spatial axes");
  if (block_of(problem.inputs[0].layout) > 1 &&
      problem.outputs[0].layout != problem.inputs[0].layout)
    return Applicability::no("the layout needs keepdims");
  return check_pool(problem, *op == ReduceOp::mean ? PoolKind::mean : PoolKind::max);
}

Result<std::unique_ptr<Kernel>> make_pool_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ReduceOp op, parse_reduce_op(problem.params));
  return make_pool(problem, op == ReduceOp::mean ? PoolKind::mean : PoolKind::max,
                   whole_plane(problem.inputs[0].shape));
}

}  // namespace

Status register_routine_reduce_cpu_pool(Registry& registry) {
  return add_routines(registry, {"reduce"}, kSchemas, "pool",
                      {.facts = {.default_rank = 15, .version = 2},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8_or<PostOpProgram::supports>,
                       .create = make_pool_reduce});
}

}  // namespace softneuro
