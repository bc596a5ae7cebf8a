// reshape, flatten, squeeze, unsqueeze and identity cpu/direct: the input's bytes as they are, in
// float16, bfloat16 and qint8 and, where the other layout's bytes are the same, in nhwc: so that a
// pooled [N, C, 1, 1] becomes [N, C] as it is.
#include "core/routine/function_routine.h"
#include "core/routine/view_adapt.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "routines/moves.h"

namespace softneuro {
namespace {

Applicability applicable(const Problem& problem) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (x.type != y.type) return Applicability::no("input and output differ in type");
  if (x.type == DataType::qint8) {
    if (!x.quantization || !y.quantization || !is_per_tensor(*x.quantization) ||
        !is_same_quantization(*x.quantization, *y.quantization))
      return Applicability::no("input and output differ in what their bytes mean");
    if (!problem.post_ops.empty()) return Applicability::no("post-ops on qint8 are not supported");
  }
  if (x.layout == y.layout && x.shape == y.shape) return Applicability::yes();
  for (const TensorSpec* spec : {&x, &y})
    if (!is_view_adapt(spec->shape, {spec->type, spec->layout}, {spec->type, Layout::plain}, true))
      return Applicability::no("needs the same order of elements at input and output");
  return Applicability::yes();
}

}  // namespace

Status register_routine_reshape_cpu_direct(Registry& registry) {
  return add_routines(registry, {"reshape", "flatten", "squeeze", "unsqueeze", "identity"},
                      {"cpu:float16", "cpu:bfloat16", "cpu:qint8", "cpu:float32:nhwc",
                       "cpu:float16:nhwc", "cpu:bfloat16:nhwc", "cpu:qint8:nhwc"},
                      "direct",
                      {.facts = {.default_rank = 10},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8,
                       .create = make_view_copy});
}

}  // namespace softneuro
