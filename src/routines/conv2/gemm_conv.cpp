#include "routines/conv2/gemm_conv.h"

#include "core/base/error.h"

namespace softneuro {

GroupMatrices::GroupMatrices(const Problem& problem, bool is_transposed)
    : groups(problem.params.integer("group")), transposed(is_transposed) {
  const Shape& weights = problem.inputs[1].shape;
  rows = weights[0] / groups;
  depth = weights.elements(1, weights.rank());
  if (transposed) std::swap(rows, depth);
}

void GroupMatrices::pack_group(const float* weights, std::int64_t group,
                               float* packed) const noexcept {
  const float* const from = weights + group * rows * depth;
  const MatrixView view = transposed ? MatrixView{from, 1, rows} : MatrixView{from, depth, 1};
  pack_a(view, rows, depth, packed + group * group_floats());
}

GemmConvKernel::GemmConvKernel(const Problem& problem, const ConvGeometry& geometry,
                               bool is_transposed, const PackedWeights& packed,
                               PostOpProgram post_ops)
    : FloatLayerKernel(problem.outputs[0].type, std::move(post_ops)),
      g_(geometry),
      matrices_(problem, is_transposed),
      packed_(packed.bytes) {
  if (packed_.empty()) {
    packed_at_ = reserve(matrices_.floats());
    reserve_input(kWeights, problem);
  }
  reserve_input(kX, problem);
  reserve_output(problem.outputs[0].shape.elements());
  if (g_.bias) reserve_input(kBias, problem);
}

const float* GemmConvKernel::weights(const Context& context) const noexcept {
  if (!packed_.empty()) return static_cast<const float*>(packed_.data());
  const float* const from = input(context, kWeights);
  float* const packed = workspace_of(context) + packed_at_;
  parallel_for(context.pool(), matrices_.groups,
               [&](std::int64_t group) { matrices_.pack_group(from, group, packed); });
  return packed;
}

std::size_t packed_group_bytes(const Problem& problem, bool is_transposed) {
  if (!problem.inputs[1].constant) return 0;
  return static_cast<std::size_t>(GroupMatrices(problem, is_transposed).floats()) * sizeof(float);
}

Status pack_groups(const Problem& problem, bool is_transposed, Allocator& scratch,
                   std::byte* packed) {
  const GroupMatrices matrices(problem, is_transposed);
  SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[1].value, scratch));
  for (std::int64_t group = 0; group < matrices.groups; ++group)
    matrices.pack_group(static_cast<const float*>(floats.data()), group,
                        reinterpret_cast<float*>(packed));
  return {};
}

}  // namespace softneuro
