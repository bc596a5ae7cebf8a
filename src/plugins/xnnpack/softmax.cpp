// softmax cpu/xnnpack and cpu:float32:nhwc/xnnpack, along the last axis in memory.
#include "core/base/error.h"
#include "plugins/partition/chunks.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

Applicability applicable(const Problem& problem) {
  if (Applicability inputs = takes_inputs(problem); !inputs) return inputs;
  if (problem.params.integer("log") != 0) return Applicability::no("log-softmax is not supported");
  const auto columns = columns_along_axis(problem);
  if (!columns.ok()) return Applicability::no(columns.status().message());
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  SN_ASSIGN_OR_RETURN(const std::int64_t columns, columns_along_axis(problem));
  const std::int64_t elements = problem.inputs[0].shape.elements();
  const auto channels = static_cast<std::size_t>(columns);
  OperatorWork work;
  SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem));
  for_chunks(elements / columns, chunk_count(context.threads(), elements), 1,
             [&](std::int64_t first, std::int64_t last) {
               const std::int64_t rows = last - first;
               OperatorChunk& chunk = work.chunks.emplace_back();
               chunk.create = [=](xnn_operator_t* op) {
                 return xnn_create_softmax_nc_f32(channels, channels, channels, 0, op);
               };
               chunk.setup = [=](xnn_operator_t op, const float* x, const float*, float* y) {
                 return xnn_setup_softmax_nc_f32(op, static_cast<std::size_t>(rows), x, y, nullptr);
               };
               chunk.repair = [=](float* y) { spread_nan(y, rows, columns, true); };
               chunk.x_at = chunk.y_at = first * columns;
               chunk.y_count = rows * columns;
             });
  return make_operator_kernel(std::move(work));
}

}  // namespace

Status register_softmax(Registry& registry) {
  return add_routines(registry, {"softmax"}, {"cpu", "cpu:float32:nhwc"}, "xnnpack",
                      operator_routine(applicable, create));
}

}  // namespace softneuro::xnnpack
