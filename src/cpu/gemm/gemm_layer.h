// What layers have in common that are a blocked product with weights: which weights and bias they
// take, what their kernels keep, and the routine parameters that partition the product.
//
// Routine parameters: cache, KiB of weights (with a SplitPrecisionGemm: of sums) that a task works
// on at a time; task_ops, multiply-adds of a task, at most.
#pragma once

#include "core/routine/routine.h"
#include "cpu/gemm/blocked_gemm.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"

namespace softneuro {

// Inputs of such a layer.
enum GemmLayerInput : std::size_t { kGemmLayerX, kGemmLayerWeights, kGemmLayerBias };

// What a kernel needs besides the product.
struct GemmLayerParts {
  Tensor packed;  // weights
  EpilogueBias bias;
  EpiloguePostOps post_ops;
};

// Keeps its parts. The workspace begins with the bias.
class GemmLayerKernel : public FloatWorkspaceKernel {
 public:
  int in_place_input() const noexcept final { return parts_.post_ops.in_place_input(); }

 protected:
  explicit GemmLayerKernel(GemmLayerParts parts)
      : parts_(std::move(parts)), bias_at_(reserve(parts_.bias.workspace_floats())) {}

  const std::byte* weights() const noexcept {
    return static_cast<const std::byte*>(parts_.packed.data());
  }
  // Once per run, before the product: whole panels, or null if there is none.
  const float* prepare_bias(const Context& context) const noexcept {
    return parts_.bias.prepare(context, workspace_of(context) + bias_at_);
  }
  // From one product's bias to the next one's.
  std::int64_t bias_stride() const noexcept { return parts_.bias.stride(); }
  const EpiloguePostOps& post_ops() const noexcept { return parts_.post_ops; }

 private:
  GemmLayerParts parts_;
  std::int64_t bias_at_;
};

// What their routines answer alike: x is of the routine's data type, weights are constant, and so
// is a bias that is not float32; post-ops are applied to sums in float32, and the parameters are
// those of the product.
class GemmLayerRoutine : public FusesPostOps<PostOpProgram::supports_in_float32, Routine> {
 protected:
  using FusesPostOps::FusesPostOps;
  Applicability applicable(const Problem& problem) const override;
};

class GemmLayerImplementation : public Implementation {
 public:
  using Implementation::Implementation;
  RoutineParams default_params() const final;

 protected:
  GemmLimits limits(const RoutineParams& params) const;
  // For create_kernel(). The bias is that of `matrices` products of `columns` each.
  // takes_addend: sums can begin with a tensor of the type of x.
  Result<GemmLayerParts> make_parts(const PackedWeights& packed, std::int64_t matrices,
                                    std::int64_t columns, bool takes_addend) const;
};

// Values that would partition the problem alike for one thread are left out. `reused_bytes`:
// weights that are read again for each block of rows; `operations`: multiply-adds of the layer.
ParamSpace gemm_param_space(std::int64_t reused_bytes, std::int64_t operations);

}  // namespace softneuro
