// Layers that are products by gemm(): they compute in float32, whatever the type of their tensors.
// float16 and bfloat16 are converted at the borders.
#pragma once

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"

namespace softneuro {

class FloatLayerKernel : public FloatWorkspaceKernel {
 protected:
  enum Input : std::size_t { kX, kWeights, kBias, kInputs };

  FloatLayerKernel(DataType type, PostOpProgram post_ops)
      : type_(type), post_ops_(std::move(post_ops)) {}

  DataType type() const noexcept { return type_; }  // of y
  // For constructors: that run() asks for this input, or for the output of so many elements.
  void reserve_input(Input input, const Problem& problem) noexcept {
    const TensorSpec& spec = problem.inputs[input];
    if (spec.type != DataType::float32) at_[input] = reserve(spec.shape.elements());
  }
  void reserve_output(std::int64_t elements) noexcept {
    if (type_ != DataType::float32) output_at_ = reserve(elements);
  }

  // In float32; converted now if it is of another type.
  const float* input(const Context& context, Input input) const noexcept {
    const TensorView& view = context.input(input);
    if (view.type == DataType::float32) return view.as<float>();
    float* const floats = workspace_of(context) + at_[input];
    load_floats(context.pool(), view.type, view.data, floats, view.elements());
    return floats;
  }
  float* output(const Context& context) const noexcept {
    return type_ == DataType::float32 ? context.output(0).as_mutable<float>()
                                      : workspace_of(context) + output_at_;
  }
  // Post-ops and rounding of `rows` rows of `count` results, while they are in the cache. y: what
  // output() gave; `offset`: of the first result; `stride`: from row to row.
  void finish(const Context& context, float* y, std::int64_t offset, std::int64_t rows,
              std::int64_t count, std::int64_t stride) const noexcept {
    if (count == stride) {  // whole rows
      count *= rows;
      rows = 1;
    }
    for (std::int64_t r = 0; r < rows; ++r, offset += stride) {
      post_ops_.apply(context.inputs(), y + offset, offset, count);
      if (type_ != DataType::float32)
        float_spans().store(type_, y + offset,
                            context.output(0).as_mutable<std::uint16_t>() + offset, count);
    }
  }

 private:
  DataType type_;
  PostOpProgram post_ops_;
  std::int64_t at_[kInputs] = {}, output_at_ = 0;
};

// What their routines have in common.
inline RoutineFunctions float_layer() {
  return {.facts = {.default_rank = 10},
          .applicable =
              [](const Problem& problem) {
                bool all = is_span_float(problem.outputs[0].type);
                for (std::size_t i = 0; i < problem.layer_inputs; ++i)
                  all = all && (!problem.has_input(i) || is_span_float(problem.inputs[i].type));
                return all ? Applicability::yes()
                           : Applicability::no("needs float32, float16 or bfloat16");
              },
          .supports_post_ops = PostOpProgram::supports_in_float32};
}

}  // namespace softneuro
