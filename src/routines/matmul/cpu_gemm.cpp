// matmul cpu/gemm (see gemm_matmul.h). A constant operand is packed beforehand. float32 only.
#include "core/routine/registry.h"
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

class GemmMatmulImplementation final : public Implementation {
 public:
  GemmMatmulImplementation(ProblemPtr problem, const RoutineContext& context)
      : Implementation(std::move(problem), context),
        geometry_(matmul_geometry(this->problem())),
        side_(constant_side(this->problem())) {}

  Result<Packing> packing(const RoutineParams&) const override {
    if (side_ < 0) return Packing();
    const MatmulSide s(geometry_, problem(), side_);
    return Packing{static_cast<std::size_t>(s.matrices * s.packed_floats) * sizeof(float), {}};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    const MatmulSide s(geometry_, problem(), side_);
    const TensorSpec& spec = problem().inputs[static_cast<std::size_t>(side_)];
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(spec.value, scratch));
    const auto* const from = static_cast<const float*>(floats.data());
    for (std::int64_t i = 0; i < s.matrices; ++i)
      pack_lanes(s, side_, from + i * s.lanes * geometry_.depth, 0, s.lanes, geometry_.depth,
                 reinterpret_cast<float*>(packed) + i * s.packed_floats);
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    // A packed A stays as it is.
    const MatmulGeometry g = side_ == 0 ? geometry_ : join_batches(geometry_);
    return make_gemm_matmul(problem(), g, side_, packed);
  }

 private:
  MatmulGeometry geometry_;
  int side_;
};

class GemmMatmul final : public FusesPostOps<PostOpProgram::supports, Routine> {
 public:
  GemmMatmul() : FusesPostOps("matmul", "cpu/gemm") {}
  RoutineFacts facts() const override { return {.default_rank = 10}; }

 protected:
  Applicability applicable(const Problem& problem) const override { return takes_float32(problem); }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<GemmMatmulImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_matmul_cpu_gemm(Registry& registry) {
  return registry.add(std::make_unique<GemmMatmul>());
}

}  // namespace softneuro
