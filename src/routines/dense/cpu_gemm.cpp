// dense cpu/gemm: x[rows, K] · w[K, N] as matmul cpu/gemm, with a bias. float16 and bfloat16
// tensors are converted at the borders.
#include "core/routine/registry.h"
#include "cpu/gemm/float_layer.h"
#include "routines/dense/dense_sizes.h"
#include "routines/matmul/gemm_matmul.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights };

class GemmDenseImplementation final : public Implementation {
 public:
  GemmDenseImplementation(ProblemPtr problem, const RoutineContext& context)
      : Implementation(std::move(problem), context), sizes_(this->problem()) {}

  Result<Packing> packing(const RoutineParams&) const override {
    if (!problem().inputs[kWeights].constant) return Packing();
    const std::int64_t floats = packed_b_floats(sizes_.depth, sizes_.columns);
    return Packing{static_cast<std::size_t>(floats) * sizeof(float), {}};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem().inputs[kWeights].value, scratch));
    pack_b(sizes_.weights(static_cast<const float*>(floats.data())), sizes_.depth, sizes_.columns,
           reinterpret_cast<float*>(packed));
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    const MatrixView weights = sizes_.weights(nullptr);
    MatmulGeometry g;
    g.rows = sizes_.rows;
    g.depth = sizes_.depth;
    g.columns = sizes_.columns;
    g.a_row = sizes_.depth;
    g.a_column = 1;
    g.b_row = weights.row_stride;
    g.b_column = weights.column_stride;
    return make_gemm_matmul(problem(), g, packed.bytes.empty() ? -1 : 1, packed);
  }

 private:
  DenseSizes sizes_;
};

class GemmDense final : public FloatLayerRoutine {
 public:
  GemmDense() : FloatLayerRoutine("dense", "cpu/gemm") {}

 protected:
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<GemmDenseImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_dense_cpu_gemm(Registry& registry) {
  return registry.add(std::make_unique<GemmDense>());
}

}  // namespace softneuro
