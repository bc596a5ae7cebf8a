#include "routines/data_movement_routine.h"

#include "cpu/post_ops/qint8_post_ops.h"
#include "routines/run_speed.h"

namespace softneuro {
namespace {

std::vector<FormatTuple> mixed_formats(const Problem& problem,
                                       const RoutineDescriptor& descriptor) {
  std::vector<FormatTuple> tuples =
      uniform_formats(problem, descriptor.type, descriptor.layout, descriptor.device);
  if (descriptor.layout == Layout::plain || tuples.empty()) return tuples;
  const FormatTuple uniform = tuples[0];
  tuples.push_back(uniform);
  tuples.back().inputs[0].layout = Layout::plain;
  tuples.push_back(uniform);
  tuples.back().outputs[0].layout = Layout::plain;
  return tuples;
}

}  // namespace

Applicability check_move(const Problem& problem, MakeKernel make) {
  const DataType type = problem.inputs[0].type;
  for (const TensorSpec& output : problem.outputs)
    if (output.present() && output.type != type)
      return Applicability::no("input and output differ in type");
  if (type == DataType::qint8)
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
  if (const auto kernel = make(problem); !kernel.ok())
    return Applicability::no(kernel.status().message());
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_move(const Problem& problem, MakeKernel make) {
  SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, make(problem));
  if (problem.outputs[0].type != DataType::qint8) return kernel;
  return make_requantized_move(std::move(kernel), problem);
}

Status add_moves(Registry& registry, const char* layer_type, const MoveSchemas& schemas,
                 Applicability (*applicable)(const Problem&), MakeKernel create) {
  RoutineFunctions functions = {.facts = {.default_rank = 10},
                                .applicable = applicable,
                                .supports_post_ops = if_qint8,
                                .speed = run_speed,
                                .create = create};
  if (schemas.mixed) functions.formats = mixed_formats;
  SN_RETURN_IF_ERROR(add_routines(registry, {layer_type},
                                  {"cpu", "cpu:float16", "cpu:bfloat16", "cpu:qint8"}, "direct",
                                  functions));
  if (!schemas.nhwc) return {};
  return add_routines(
      registry, {layer_type},
      {"cpu:float32:nhwc", "cpu:float16:nhwc", "cpu:bfloat16:nhwc", "cpu:qint8:nhwc"}, "direct",
      functions);
}

}  // namespace softneuro
