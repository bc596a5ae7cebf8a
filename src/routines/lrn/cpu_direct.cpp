// lrn cpu/direct: a strip of positions through all channels at a time; float32 only.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/span_ops.h"

namespace softneuro {
namespace {

constexpr std::int64_t kStrip = 256;  // positions

class DirectLrnKernel final : public Kernel {
 public:
  DirectLrnKernel(const Shape& x, const Params& params, PostOpProgram post_ops)
      : batch_(x[0]),
        channels_(x[1]),
        inner_(x.elements(2, x.rank())),
        size_(params.integer("size")),
        alpha_(static_cast<float>(params.real("alpha") / static_cast<double>(size_))),
        beta_(static_cast<float>(params.real("beta"))),
        bias_(static_cast<float>(params.real("bias"))),
        post_ops_(std::move(post_ops)) {}

  Status run(Context& context) const noexcept override {
    const std::int64_t strips = (inner_ + kStrip - 1) / kStrip;
    parallel_for(context.pool(), batch_ * strips, [&](std::int64_t i) {
      run_strip(context, i / strips * channels_ * inner_ + i % strips * kStrip,
                std::min(kStrip, inner_ - i % strips * kStrip));
    });
    return {};
  }

 private:
  // `begin` is the strip's first element in the first channel.
  void run_strip(Context& context, std::int64_t begin, std::int64_t count) const noexcept {
    const float* const x = context.input(0).as<float>() + begin;
    float* const y = context.output(0).as_mutable<float>() + begin;
    float sums[kStrip];
    for (std::int64_t c = 0; c < channels_; ++c) {
      std::fill_n(sums, count, 0.0f);
      const std::int64_t last = std::min(c + size_ / 2, channels_ - 1);
      for (std::int64_t k = std::max<std::int64_t>(c - (size_ - 1) / 2, 0); k <= last; ++k)
        for (std::int64_t i = 0; i < count; ++i) sums[i] += x[k * inner_ + i] * x[k * inner_ + i];
      // s^(−beta) = exp(−beta · log s)
      const SpanOps& ops = span_ops();
      ops.unary(UnaryOp::linear, sums, sums, count, alpha_, bias_);
      ops.unary(UnaryOp::log, sums, sums, count, 0, 0);
      ops.unary(UnaryOp::linear, sums, sums, count, -beta_, 0);
      ops.unary(UnaryOp::exp, sums, sums, count, 0, 0);
      float* const to = y + c * inner_;
      for (std::int64_t i = 0; i < count; ++i) to[i] = x[c * inner_ + i] * sums[i];
      post_ops_.apply(context.inputs(), to, begin + c * inner_, count);
    }
  }

  std::int64_t batch_, channels_, inner_, size_;
  float alpha_, beta_, bias_;  // alpha is already divided by the size
  PostOpProgram post_ops_;
};

Applicability applicable(const Problem& problem) {
  if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
  // The power is taken by way of the logarithm.
  if (!(problem.params.real("bias") > 0) || !(problem.params.real("alpha") >= 0))
    return Applicability::no("needs bias > 0 and alpha >= 0");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_lrn(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<DirectLrnKernel>(problem.inputs[0].shape, problem.params, std::move(post_ops));
}

}  // namespace

Status register_routine_lrn_cpu_direct(Registry& registry) {
  return add_routines(registry, {"lrn"}, {"cpu"}, "direct",
                      {.facts = {.default_rank = 20},
                       .applicable = applicable,
                       .supports_post_ops = PostOpProgram::supports,
                       .create = make_direct_lrn});
}

}  // namespace softneuro
