// group_norm, instance_norm cpu/direct: each group is contiguous, statistics in double. float16
// and bfloat16 through float32 in the workspace.
#include <cmath>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"
#include "routines/layer_norm/row_norm.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kScale, kBias };

class DirectGroupNormKernel final : public FloatWorkspaceKernel {
 public:
  // `groups` of one image.
  DirectGroupNormKernel(const Problem& problem, std::int64_t groups, PostOpProgram post_ops)
      : batch_(problem.inputs[kX].shape[0]),
        groups_(groups),
        channels_(groups == 0 ? 0 : problem.inputs[kX].shape[1] / groups),
        inner_(problem.inputs[kX].shape.elements(2, problem.inputs[kX].shape.rank())),
        epsilon_(problem.params.real("epsilon")),
        post_ops_(std::move(post_ops)) {
    if (problem.inputs[kX].type != DataType::float32)
      converted_at_ = reserve(problem.inputs[kX].shape.elements());
  }
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const std::int64_t count = channels_ * inner_;
    if (count == 0) return {};
    const RowNorm& functions = row_norm();
    const TensorView &input = context.input(kX), &output = context.output(0);
    parallel_for(context.pool(), batch_ * groups_, [&](std::int64_t i) {
      float* const converted = workspace_of(context) + converted_at_ + i * count;
      const float* const x = read_floats(input.data, input.type, i * count, count, converted);
      float* const y = target_floats(output.data, output.type, i * count, converted);
      const RowMoments moments = functions.moments(x, count);
      const double factor = 1 / std::sqrt(moments.variance + epsilon_);
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::int64_t channel = i % groups_ * channels_ + c;
        const double scale = load(context.input(kScale), channel);
        const double bias = load(context.input(kBias), channel);
        const float* const from = x + c * inner_;
        float* const to = y + c * inner_;
        for (std::int64_t k = 0; k < inner_; ++k)
          to[k] = static_cast<float>((from[k] - moments.mean) * factor * scale + bias);
        post_ops_.apply(context.inputs(), to, i * count + c * inner_, inner_);
      }
      write_floats(output.data, output.type, i * count, count, y);
    });
    return {};
  }

 private:
  std::int64_t batch_, groups_, channels_, inner_;  // channels of a group, elements of a channel
  double epsilon_;
  PostOpProgram post_ops_;
  std::int64_t converted_at_ = 0;  // x in float32, in the workspace
};

Applicability applicable(const Problem& problem) {
  for (std::size_t i = 0; i < problem.layer_inputs; ++i)
    if (!is_span_float(problem.inputs[i].type))
      return Applicability::no("needs float32, float16 or bfloat16");
  if (problem.outputs[0].type != problem.inputs[kX].type)
    return Applicability::no("x and y differ in type");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_group_norm(const Problem& problem) {
  const Shape& x = problem.inputs[kX].shape;
  // instance_norm has no parameter of that name: one channel per group.
  const std::int64_t groups = problem.params.integer("groups", x[1]);
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<DirectGroupNormKernel>(problem, groups, std::move(post_ops));
}

}  // namespace

Status register_routine_group_norm_cpu_direct(Registry& registry) {
  return add_routines(registry, {"group_norm", "instance_norm"},
                      {"cpu", "cpu:float16", "cpu:bfloat16"}, "direct",
                      {.facts = {.default_rank = 20},
                       .applicable = applicable,
                       .supports_post_ops = PostOpProgram::supports_in_float32,
                       .create = make_direct_group_norm});
}

}  // namespace softneuro
