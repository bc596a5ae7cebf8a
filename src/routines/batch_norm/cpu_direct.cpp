// batch_norm cpu/direct: per channel one factor and one shift; float32 only.
#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "core/post_ops.h"
#include "core/registry.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kScale, kBias, kMean, kVariance };

constexpr std::int64_t kPiece = 4096;  // elements between one round of post-ops and the next

class DirectBatchNormKernel final : public Kernel {
 public:
  DirectBatchNormKernel(std::int64_t planes, std::int64_t channels, std::int64_t inner,
                        double epsilon, PostOpProgram post_ops)
      : planes_(planes),
        channels_(channels),
        inner_(inner),
        epsilon_(epsilon),
        post_ops_(std::move(post_ops)) {}
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    if (inner_ == 0) return {};
    const std::int64_t pieces = (inner_ + kPiece - 1) / kPiece;
    const std::int64_t grain = std::max<std::int64_t>(kPiece / inner_, 1);
    parallel_ranges(context.pool(), planes_ * pieces, grain,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i)
                        run_piece(context, i / pieces, i % pieces * kPiece);
                    });
    return {};
  }

 private:
  void run_piece(Context& context, std::int64_t plane, std::int64_t begin) const noexcept {
    const std::int64_t c = plane % channels_;
    const auto value = [&](std::size_t input) { return context.input(input).as<float>()[c]; };
    const float mean = value(kMean), bias = value(kBias);
    const auto factor = static_cast<float>(
        value(kScale) / std::sqrt(static_cast<double>(value(kVariance)) + epsilon_));
    const std::int64_t offset = plane * inner_ + begin;
    const std::int64_t count = std::min(kPiece, inner_ - begin);
    const float* const x = context.input(kX).as<float>() + offset;
    float* const y = context.output(0).as_mutable<float>() + offset;
    for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor + bias;
    post_ops_.apply(context.inputs(), y, offset, count);
  }

  std::int64_t planes_, channels_, inner_;
  double epsilon_;
  PostOpProgram post_ops_;
};

class DirectBatchNorm final : public Routine {
 public:
  DirectBatchNorm() : Routine("batch_norm", "cpu/direct") {}
  int default_rank() const override { return 20; }

  Applicability applicable(const Problem& problem) const override {
    for (std::size_t i = 0; i < problem.own_inputs; ++i)
      if (problem.inputs[i].type != DataType::float32) return Applicability::no("only float32");
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[kX].shape;
    const std::int64_t channels = x.rank() < 2 ? 1 : x[1];
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return std::unique_ptr<Kernel>(std::make_unique<DirectBatchNormKernel>(
        x[0] * channels, channels, x.rank() < 2 ? 1 : x.elements(2, x.rank()),
        problem.params.real("epsilon"), std::move(post_ops)));
  }
};

}  // namespace

Status register_routine_batch_norm_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectBatchNorm>());
}

}  // namespace softneuro
