// What cpu/gemm of conv1/2/3 and of conv_transpose1/2/3 have in common: weights that are matrices A
// of gemm(), one for each group.
#pragma once

#include "cpu/gemm/float_layer.h"
#include "routines/conv2/geometry.h"

namespace softneuro {

// Of each group: [rows, depth], or of a transposed convolution [depth, rows].
struct GroupMatrices {
  std::int64_t groups = 1, rows = 0, depth = 0;
  bool transposed = false;

  // Of the problem's weights. Nothing but their own shape counts.
  GroupMatrices(const Problem& problem, bool is_transposed);
  std::int64_t floats() const noexcept { return groups * group_floats(); }
  std::int64_t group_floats() const noexcept { return packed_a_floats(rows, depth); }
  void pack_group(const float* weights, std::int64_t group, float* packed) const noexcept;
};

class GemmConvKernel : public FloatLayerKernel {
 protected:
  // The workspace for x, y, bias, and weights that are not packed.
  GemmConvKernel(const Problem& problem, const ConvGeometry& geometry, bool is_transposed,
                 const PackedWeights& packed, PostOpProgram post_ops);

  const float* bias(const Context& context) const noexcept {
    return g_.bias ? input(context, kBias) : nullptr;
  }
  // Packed group by group: beforehand, or now.
  const float* weights(const Context& context) const noexcept;
  std::int64_t group_floats() const noexcept { return matrices_.group_floats(); }

 private:
  ConvGeometry g_;
  GroupMatrices matrices_;
  Tensor packed_;  // empty: they are packed when they are known
  std::int64_t packed_at_ = 0;
};

// Of the problem's constant weights, for RoutineFunctions.
std::size_t packed_group_bytes(const Problem& problem, bool is_transposed);
Status pack_groups(const Problem& problem, bool is_transposed, Allocator& scratch,
                   std::byte* packed);

// What their routines have in common.
template <bool is_transposed>
RoutineFunctions gemm_conv() {
  RoutineFunctions functions = float_layer();
  functions.packed_bytes = [](const Problem& problem) {
    return packed_group_bytes(problem, is_transposed);
  };
  functions.pack = [](const Problem& problem, Allocator& scratch, std::byte* packed) {
    return pack_groups(problem, is_transposed, scratch, packed);
  };
  return functions;
}

}  // namespace softneuro
