// reduce cpu:float32:nhwc/xnnpack: the mean of each channel (global average pooling), partitioned
// by images.
#include "core/layers/reduction.h"
#include "plugins/partition/chunks.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

Applicability applicable(const Problem& problem) {
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
  if (Applicability work = has_work(problem); !work) return work;
  const auto op = parse_reduce_op(problem.params);
  if (!op.ok()) return Applicability::no(op.status().message());
  if (*op != ReduceOp::mean) return Applicability::no("needs the reduction mean");
  const auto axes = reduced_axes(problem.params, problem.integers(1), x.rank());
  if (!axes.ok()) return Applicability::no(axes.status().message());
  if (*axes != (((1u << x.rank()) - 1u) & ~3u))
    return Applicability::no("needs a reduction over exactly the spatial axes");
  if (y.rank() != x.rank() && y.rank() > 2) return Applicability::no("the layout needs keepdims");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  const Shape& x = problem.inputs[0].shape;
  const std::int64_t channels = x[1], pixels = x.elements(2, x.rank());
  OperatorWork work;
  SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem));
  for_chunks(x[0], chunk_count(context.threads(), x.elements()), 1,
             [&](std::int64_t first, std::int64_t last) {
               OperatorChunk& chunk = work.chunks.emplace_back();
               chunk.create = [=](xnn_operator_t* op) {
                 const std::size_t c = size(channels);
                 return xnn_create_global_average_pooling_nwc_f32(c, c, c, -kUnlimited, kUnlimited,
                                                                  0, op);
               };
               chunk.setup = [=](xnn_operator_t op, const float* from, const float*, float* y) {
                 return xnn_setup_global_average_pooling_nwc_f32(op, size(last - first),
                                                                 size(pixels), from, y, nullptr);
               };
               // The sum: as infinite, or as little a number, as the mean.
               chunk.element = [=](const float* from, const float*, std::int64_t i) {
                 const float* column = from + i / channels * pixels * channels + i % channels;
                 double sum = 0;
                 for (std::int64_t p = 0; p < pixels; ++p)
                   sum += static_cast<double>(column[p * channels]);
                 return sum;
               };
               chunk.x_at = first * pixels * channels;
               chunk.y_at = first * channels;
               chunk.y_count = (last - first) * channels;
             });
  return make_operator_kernel(std::move(work));
}

}  // namespace

Status register_reduce(Registry& registry) {
  return add_routines(registry, {"reduce"}, {"cpu:float32:nhwc"}, "xnnpack",
                      operator_routine(applicable, create));
}

}  // namespace softneuro::xnnpack
