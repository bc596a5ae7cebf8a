// matmul cpu/gemm (see gemm_matmul.h). A constant operand is packed beforehand. float32 only.
#include "core/routine/registry.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/matmul/gemm_matmul.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

class GemmMatmul final : public FusesPostOps<PostOpProgram::supports> {
 public:
  GemmMatmul() : FusesPostOps("matmul", "cpu/gemm") {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override { return takes_float32(problem); }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const int side = constant_side(problem);
    if (side < 0) return 0;
    const MatmulSide s(matmul_geometry(problem), problem, side);
    return static_cast<std::size_t>(s.matrices * s.packed_floats) * sizeof(float);
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    const int side = constant_side(problem);
    const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
    const MatmulGeometry g = matmul_geometry(problem);
    const MatmulSide s(g, problem, side);
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(spec.value, scratch));
    const auto* const from = static_cast<const float*>(floats.data());
    for (std::int64_t i = 0; i < s.matrices; ++i)
      pack_lanes(s, side, from + i * s.lanes * g.depth, 0, s.lanes, g.depth,
                 reinterpret_cast<float*>(packed) + i * s.packed_floats);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    const int side = constant_side(problem);
    MatmulGeometry g = matmul_geometry(problem);
    if (side != 0) g = join_batches(g);  // a packed A stays as it is
    return make_gemm_matmul(problem, g, side, packed);
  }

 private:
  // The operand that is packed beforehand; −1: none. Two constants would have been folded.
  static int constant_side(const Problem& problem) {
    for (const int side : {1, 0}) {
      const TensorSpec& spec = problem.inputs[static_cast<std::size_t>(side)];
      if (spec.constant && !spec.value.empty()) return side;
    }
    return -1;
  }
};

}  // namespace

Status register_routine_matmul_cpu_gemm(Registry& registry) {
  return registry.add(std::make_unique<GemmMatmul>());
}

}  // namespace softneuro
