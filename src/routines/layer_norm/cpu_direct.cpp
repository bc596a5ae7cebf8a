// layer_norm, rms_norm cpu/direct: a row at a time, statistics in double; scale and bias have one
// element per element of the row. float16 and bfloat16 through float32 in the workspace.
#include <cmath>

#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"
#include "routines/along_axis.h"
#include "routines/layer_norm/row_norm.h"

namespace softneuro {

SN_CHOOSE_VARIANT(RowNorm, kRowNorm, row_norm)

namespace {

enum Input : std::size_t { kX, kScale, kBias };

constexpr std::int64_t kTaskElements = 8192;

class DirectLayerNormKernel final : public FloatWorkspaceKernel {
 public:
  DirectLayerNormKernel(const Problem& problem, int axis, bool centred, PostOpProgram post_ops)
      : rows_(problem.inputs[kX].shape.elements(0, axis)),
        columns_(problem.inputs[kX].shape.elements(axis, problem.inputs[kX].shape.rank())),
        epsilon_(problem.params.real("epsilon")),
        centred_(centred),
        scale_(problem.has_input(kScale)),
        bias_(problem.has_input(kBias)),
        post_ops_(std::move(post_ops)) {
    for (std::size_t i = kX; i < problem.layer_inputs; ++i)
      if (problem.has_input(i) && problem.inputs[i].type != DataType::float32)
        converted_at_[i] = reserve(problem.inputs[i].shape.elements());
  }
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const float* const x = in_float32(context, kX);
    const float* const scale = scale_ ? in_float32(context, kScale) : nullptr;
    const float* const bias = bias_ ? in_float32(context, kBias) : nullptr;
    const TensorView& output = context.output(0);
    const bool converts = output.type != DataType::float32;
    // The converted input is ours to write to.
    float* const y = converts ? const_cast<float*>(x) : output.as_mutable<float>();
    const std::int64_t grain = kTaskElements / (columns_ + 1) + 1;
    parallel_ranges(context.pool(), rows_, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        run_row(context, row, x + row * columns_, scale, bias, y + row * columns_);
      if (converts)
        write_floats(output.data, output.type, first * columns_, (last - first) * columns_,
                     y + first * columns_);
    });
    return {};
  }

 private:
  // Input `i` as float32: as it is, or converted into the workspace.
  const float* in_float32(Context& context, std::size_t i) const noexcept {
    const TensorView& input = context.input(i);
    if (input.type == DataType::float32) return input.as<float>();
    float* converted = workspace_of(context) + converted_at_[i];
    load_floats(context.pool(), input.type, input.data, converted, input.elements());
    return converted;
  }

  void run_row(Context& context, std::int64_t row, const float* x, const float* scale,
               const float* bias, float* y) const noexcept {
    const RowNorm& functions = row_norm();
    const RowMoments moments = centred_ ? functions.moments(x, columns_)
                                        : RowMoments{0, functions.mean_square(x, columns_)};
    const double factor = 1 / std::sqrt(moments.variance + epsilon_);
    functions.normalize(x, moments.mean, factor, scale, bias, y, columns_);
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
  std::int64_t converted_at_[3] = {};  // inputs that are not float32, in the workspace
};

// One element per element of x's row, and nothing before it but ones.
bool covers_row(const Shape& shape, const Shape& x, int axis) {
  const int shift = x.rank() - shape.rank();
  if (shift > axis && x.elements(axis, shift) != 1) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != (i + shift < axis ? 1 : x[i + shift])) return false;
  return true;
}

Applicability applicable(const Problem& problem) {
  for (const TensorSpec& output : problem.outputs)
    if (output.present() && output.type != DataType::float32 && &output != &problem.outputs[0])
      return Applicability::no("the outputs mean and inverse standard deviation need float32");
  const DataType type = problem.inputs[kX].type;
  if (!is_span_float(type) || problem.outputs[0].type != type)
    return Applicability::no("needs float32, float16 or bfloat16 at x and y");
  const Shape& x = problem.inputs[kX].shape;
  const Result<int> axis = axis_of(problem);
  if (!axis.ok()) return Applicability::no(axis.status().message());
  for (std::size_t i = kScale; i < problem.layer_inputs; ++i) {
    if (!problem.has_input(i)) continue;
    if (!is_span_float(problem.inputs[i].type))
      return Applicability::no("scale and bias must be float32, float16 or bfloat16");
    if (!covers_row(problem.inputs[i].shape, x, *axis))
      return Applicability::no("scale or bias is broadcast within the row, or differs by row");
  }
  return Applicability::yes();
}

template <bool centred>
Result<std::unique_ptr<Kernel>> make_direct_layer_norm(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<DirectLayerNormKernel>(problem, axis, centred, std::move(post_ops));
}

}  // namespace

Status register_routine_layer_norm_cpu_direct(Registry& registry) {
  RoutineFunctions functions = {.facts = {.default_rank = 20},
                                .applicable = applicable,
                                .supports_post_ops = PostOpProgram::supports_in_float32,
                                .create = make_direct_layer_norm<true>};
  const auto add = [&](const char* layer_type) {
    return add_routines(registry, {layer_type}, {"cpu", "cpu:float16", "cpu:bfloat16"}, "direct",
                        functions);
  };
  SN_RETURN_IF_ERROR(add("layer_norm"));
  functions.create = make_direct_layer_norm<false>;
  return add("rms_norm");
}

}  // namespace softneuro
