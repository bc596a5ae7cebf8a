// reduce cpu/onednn: sums and means over the last axes. Of the library's other reductions, max and
// min lose NaN, a product may leave the range of float32 on the way, and for the rest, as for other
// axes, it has reference code only.
#include "core/base/error.h"
#include "core/layers/reduction.h"
#include "core/routine/registry.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

// Neighbouring elements that become one; unsupported if those that do are no neighbours, or none
// do.
Result<std::int64_t> columns_of(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const std::uint32_t axes,
                      reduced_axes(problem.params, problem.integers(1), x.rank()));
  const ReductionPlan plan = plan_reduction(x, axes);
  if (plan.gone.rank() != 1 || plan.gone_strides[0] != 1)
    return unsupported("not the last axes are reduced");
  return plan.gone[0];
}

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  const auto op = parse_reduce_op(problem.params);
  if (!op.ok()) return Applicability::no(op.status().message());
  if (*op == ReduceOp::max || *op == ReduceOp::min)
    return Applicability::no("oneDNN's implementation does not propagate NaN");
  if (*op != ReduceOp::sum && *op != ReduceOp::mean)
    return Applicability::no("needs the reduction sum or mean");
  const auto columns = columns_of(problem);
  if (!columns.ok()) return Applicability::no(columns.status().message());
  return Applicability::yes();
}

std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const std::int64_t columns = *columns_of(problem);
  const std::int64_t elements = problem.inputs[0].shape.elements();
  const auto algorithm = *parse_reduce_op(problem.params) == ReduceOp::sum
                             ? dnnl::algorithm::reduction_sum
                             : dnnl::algorithm::reduction_mean;
  std::vector<PlainPart> parts;
  for_chunks(elements / columns, chunk_count(threads, elements), 1,
             [&](std::int64_t first, std::int64_t last) {
               const auto x = matrix_desc(last - first, columns);
               const auto y = matrix_desc(last - first, 1);
               parts.push_back(plain_part(
                   Operation::of<dnnl::reduction>(algorithm, x, y, 0.0f, 0.0f),
                   {input_argument(DNNL_ARG_SRC, 0, first * columns, x), output_argument(first, y)},
                   first, last - first));
             });
  return parts;
}

}  // namespace

Status register_reduce(Registry& registry) {
  return add_plain_routines(
      registry, {.layer_type = "reduce", .applicable = applicable, .parts = parts}, {"cpu/onednn"});
}

}  // namespace softneuro::onednn
