// reshape, flatten, squeeze, unsqueeze and identity cpu/direct: the input's bytes as they are, in
// float16, bfloat16 and qint8 and, where the other layout's bytes are the same, in nhwc: so that a
// pooled [N, C, 1, 1] becomes [N, C] as it is.
#include <string>

#include "core/routine/noop_adapt.h"
#include "core/routine/registry.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "routines/moves.h"

namespace softneuro {
namespace {

class DirectView final : public FusesPostOps<if_qint8> {
 public:
  DirectView(const char* layer_type, const std::string& descriptor)
      : FusesPostOps(layer_type, descriptor) {}
  RoutineFacts facts() const override { return {.default_rank = 10}; }

  Applicability applicable(const Problem& problem) const override {
    const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
    if (x.type != y.type) return Applicability::no("input and output differ in type");
    if (x.type == DataType::qint8) {
      if (!x.quantization || !y.quantization || !is_per_tensor(*x.quantization) ||
          !is_same_quantization(*x.quantization, *y.quantization))
        return Applicability::no("input and output differ in what their bytes mean");
      if (!problem.post_ops.empty())
        return Applicability::no("post-ops on qint8 are not supported");
    }
    if (x.layout == y.layout && x.shape == y.shape) return Applicability::yes();
    for (const TensorSpec* spec : {&x, &y})
      if (!is_noop_adapt(spec->shape, {spec->type, spec->layout}, {spec->type, Layout::plain},
                         true))
        return Applicability::no("needs the same order of elements at input and output");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    return make_view_copy(problem);
  }
};

}  // namespace

Status register_routine_reshape_cpu_direct(Registry& registry) {
  for (const char* layer_type : {"reshape", "flatten", "squeeze", "unsqueeze", "identity"})
    for (const char* schema : {"cpu:float16", "cpu:bfloat16", "cpu:qint8", "cpu:float32:nhwc",
                               "cpu:float16:nhwc", "cpu:bfloat16:nhwc", "cpu:qint8:nhwc"})
      SN_RETURN_IF_ERROR(
          registry.add(std::make_unique<DirectView>(layer_type, std::string(schema) + "/direct")));
  return {};
}

}  // namespace softneuro
