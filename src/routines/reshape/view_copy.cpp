#include "routines/reshape/view_copy.h"

#include <string>

#include "core/routine/noop_adapt.h"
#include "cpu/simd/qint8_rows.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {
namespace {

class ViewCopyKernel final : public Kernel {
 public:
  int in_place_input() const noexcept override { return 0; }
  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type)) * x.elements();
    copy_bytes(x.data, context.output(0).data, bytes, context.pool());
    return {};
  }
};

class DirectView final : public Routine {
 public:
  DirectView(const char* layer_type, const std::string& descriptor)
      : Routine(layer_type, descriptor) {}
  int default_rank() const override { return 10; }

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
  // So that applicable() sees those of qint8, and refuses them.
  bool supports_post_ops(const Problem& problem) const override {
    return problem.outputs[0].type == DataType::qint8;
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_view_copy(problem);
  }
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_view_copy(const Problem&) {
  return make_kernel<ViewCopyKernel>();
}

Status register_direct_view(Registry& registry, const char* layer_type) {
  for (const char* schema : {"cpu:float16", "cpu:bfloat16", "cpu:qint8", "cpu:float32:nhwc",
                             "cpu:float16:nhwc", "cpu:bfloat16:nhwc", "cpu:qint8:nhwc"})
    SN_RETURN_IF_ERROR(
        registry.add(std::make_unique<DirectView>(layer_type, std::string(schema) + "/direct")));
  return {};
}

}  // namespace softneuro
