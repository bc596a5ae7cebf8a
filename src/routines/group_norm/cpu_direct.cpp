// group_norm, instance_norm cpu/direct: each group lies in one piece, statistics in double;
// float32 only.
#include <cmath>

#include "core/base/parallel.h"
#include "cpu/post_ops/post_ops.h"
#include "routines/add_each.h"
#include "routines/layer_norm/row_norm.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kScale, kBias };

class DirectGroupNormKernel final : public Kernel {
 public:
  // `channels` of one group, of `inner` elements each; `groups` of one image.
  DirectGroupNormKernel(std::int64_t batch, std::int64_t groups, std::int64_t channels,
                        std::int64_t inner, double epsilon, PostOpProgram post_ops)
      : batch_(batch),
        groups_(groups),
        channels_(channels),
        inner_(inner),
        epsilon_(epsilon),
        post_ops_(std::move(post_ops)) {}
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const std::int64_t count = channels_ * inner_;
    if (count == 0) return {};
    const RowNorm& functions = row_norm();
    parallel_for(context.pool(), batch_ * groups_, [&](std::int64_t i) {
      const float* const x = context.input(kX).as<float>() + i * count;
      float* const y = context.output(0).as_mutable<float>() + i * count;
      const RowMoments moments = functions.moments(x, count);
      const double factor = 1 / std::sqrt(moments.variance + epsilon_);
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::int64_t channel = i % groups_ * channels_ + c;
        const double scale = context.input(kScale).as<float>()[channel];
        const double bias = context.input(kBias).as<float>()[channel];
        const float* const from = x + c * inner_;
        float* const to = y + c * inner_;
        for (std::int64_t k = 0; k < inner_; ++k)
          to[k] = static_cast<float>((from[k] - moments.mean) * factor * scale + bias);
        post_ops_.apply(context.inputs(), to, i * count + c * inner_, inner_);
      }
    });
    return {};
  }

 private:
  std::int64_t batch_, groups_, channels_, inner_;
  double epsilon_;
  PostOpProgram post_ops_;
};

class DirectGroupNorm final : public FusesPostOps<PostOpProgram::supports> {
 public:
  explicit DirectGroupNorm(const char* layer_type) : FusesPostOps(layer_type, "cpu/direct") {}
  int default_rank() const override { return 20; }

  Applicability applicable(const Problem& problem) const override {
    for (std::size_t i = 0; i < problem.own_inputs; ++i)
      if (problem.inputs[i].type != DataType::float32) return Applicability::no("needs float32");
    return Applicability::yes();
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[kX].shape;
    // instance_norm has no parameter of that name: one channel per group.
    const std::int64_t groups = problem.params.integer("groups", x[1]);
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<DirectGroupNormKernel>(x[0], groups, groups == 0 ? 0 : x[1] / groups,
                                              x.elements(2, x.rank()),
                                              problem.params.real("epsilon"), std::move(post_ops));
  }
};

}  // namespace

Status register_routine_group_norm_cpu_direct(Registry& registry) {
  return add_each<DirectGroupNorm>(registry, {"group_norm", "instance_norm"});
}

}  // namespace softneuro
