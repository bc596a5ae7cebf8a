// matmul cpu/gemm (see gemm_matmul.h). A constant operand is packed beforehand. float32 only.
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/matmul/gemm_matmul.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

// The operand that is packed beforehand; −1: none. Two constants would have been folded.
int constant_side(const Problem& problem) {
  for (const int side : {1, 0}) {
    const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
    if (spec.constant && !spec.value.empty()) return side;
  }
  return -1;
}

std::size_t packed_bytes(const Problem& problem) {
  const int side = constant_side(problem);
  if (side < 0) return 0;
  const MatmulSide s(matmul_geometry(problem), problem, side);
  return static_cast<std::size_t>(s.matrices * s.packed_floats) * sizeof(float);
}

Status pack(const Problem& problem, Allocator& scratch, std::byte* packed) {
  const int side = constant_side(problem);
  const MatmulGeometry g = matmul_geometry(problem);
  const MatmulSide s(g, problem, side);
  const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
  SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(spec.value, scratch));
  const auto* const from = static_cast<const float*>(floats.data());
  for (std::int64_t i = 0; i < s.matrices; ++i)
    pack_lanes(s, side, from + i * s.lanes * g.depth, 0, s.lanes, g.depth,
               reinterpret_cast<float*>(packed) + i * s.packed_floats);
  return {};
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext&,
                                       const PackedWeights& packed) {
  const int side = constant_side(problem);
  const MatmulGeometry g = matmul_geometry(problem);
  // A packed A stays as it is.
  return make_gemm_matmul(problem, side == 0 ? g : join_batches(g), side, packed);
}

}  // namespace

Status register_routine_matmul_cpu_gemm(Registry& registry) {
  return add_routines(registry, {"matmul"}, {"cpu"}, "gemm",
                      {.facts = {.default_rank = 10},
                       .applicable = takes_float32,
                       .supports_post_ops = PostOpProgram::supports,
                       .packed_bytes = packed_bytes,
                       .pack = pack,
                       .create_with = create});
}

}  // namespace softneuro
