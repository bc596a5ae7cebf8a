// layer_norm, rms_norm cpu/direct: a row at a time, statistics in double, float32 tensors whose
// scale and bias have one element per element of the row.
#include <cmath>

#include "core/parallel.h"
#include "core/post_ops.h"
#include "core/registry.h"
#include "routines/layer_norm/row_norm.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kScale, kBias };

constexpr std::int64_t kTaskElements = 8192;

class DirectLayerNormKernel final : public Kernel {
 public:
  DirectLayerNormKernel(const Problem& problem, int axis, bool centred, PostOpProgram post_ops)
      : rows_(problem.inputs[kX].shape.elements(0, axis)),
        columns_(problem.inputs[kX].shape.elements(axis, problem.inputs[kX].shape.rank())),
        epsilon_(problem.params.real("epsilon")),
        centred_(centred),
        scale_(problem.has_input(kScale)),
        bias_(problem.has_input(kBias)),
        post_ops_(std::move(post_ops)) {}
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const std::int64_t grain = kTaskElements / (columns_ + 1) + 1;
    parallel_ranges(context.pool(), rows_, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) run_row(context, row);
    });
    return {};
  }

 private:
  void run_row(Context& context, std::int64_t row) const noexcept {
    const RowNorm& functions = row_norm();
    const float* const x = context.input(kX).as<float>() + row * columns_;
    float* const y = context.output(0).as_mutable<float>() + row * columns_;
    const RowMoments moments = centred_ ? functions.moments(x, columns_)
                                        : RowMoments{0, functions.mean_square(x, columns_)};
    const double factor = 1 / std::sqrt(moments.variance + epsilon_);
    functions.normalize(x, moments.mean, factor,
                        scale_ ? context.input(kScale).as<float>() : nullptr,
                        bias_ ? context.input(kBias).as<float>() : nullptr, y, columns_);
    post_ops_.apply(context.inputs(), y, row * columns_, columns_);
    if (context.has_output(1))
      context.output(1).as_mutable<float>()[row] = static_cast<float>(moments.mean);
    if (context.has_output(2))
      context.output(2).as_mutable<float>()[row] = static_cast<float>(factor);
  }

  std::int64_t rows_, columns_;
  double epsilon_;
  bool centred_, scale_, bias_;
  PostOpProgram post_ops_;
};

class DirectLayerNorm final : public Routine {
 public:
  DirectLayerNorm(const char* layer_type, bool centred)
      : Routine(layer_type, "cpu/direct"), centred_(centred) {}
  int default_rank() const override { return 20; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[kX].type != DataType::float32) return Applicability::no("only float32");
    const Shape& x = problem.inputs[kX].shape;
    const Result<int> axis = normalize_axis(problem.params.integer("axis"), x.rank());
    if (!axis.ok()) return Applicability::no(axis.status().message());
    for (std::size_t i = kScale; i < problem.own_inputs; ++i) {
      if (!problem.has_input(i)) continue;
      if (problem.inputs[i].type != DataType::float32)
        return Applicability::no("scale and bias must be float32");
      if (!covers_row(problem.inputs[i].shape, x, *axis))
        return Applicability::no("scale or bias is broadcast within the row, or differs by row");
    }
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[kX].shape;
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return std::unique_ptr<Kernel>(
        std::make_unique<DirectLayerNormKernel>(problem, axis, centred_, std::move(post_ops)));
  }

 private:
  // One element per element of x's row, and nothing before it but ones.
  static bool covers_row(const Shape& shape, const Shape& x, int axis) {
    const int shift = x.rank() - shape.rank();
    if (shift > axis && x.elements(axis, shift) != 1) return false;
    for (int i = 0; i < shape.rank(); ++i)
      if (shape[i] != (i + shift < axis ? 1 : x[i + shift])) return false;
    return true;
  }

  bool centred_;
};

}  // namespace

Status register_routine_layer_norm_cpu_direct(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<DirectLayerNorm>("layer_norm", true)));
  return registry.add(std::make_unique<DirectLayerNorm>("rms_norm", false));
}

}  // namespace softneuro
