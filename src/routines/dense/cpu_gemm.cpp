// dense cpu/gemm: x[rows, K] · w[K, N] as matmul cpu/gemm, with a bias. float16 and bfloat16
// tensors are converted at the borders.
#include "core/routine/registry.h"
#include "cpu/gemm/float_layer.h"
#include "routines/dense/dense_sizes.h"
#include "routines/matmul/gemm_matmul.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights };

std::size_t packed_bytes(const Problem& problem) {
  if (!problem.inputs[kWeights].constant) return 0;
  const DenseSizes sizes(problem);
  return static_cast<std::size_t>(packed_b_floats(sizes.depth, sizes.columns)) * sizeof(float);
}

Status pack(const Problem& problem, Allocator& scratch, std::byte* packed) {
  const DenseSizes sizes(problem);
  SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[kWeights].value, scratch));
  pack_b(sizes.weights(static_cast<const float*>(floats.data())), sizes.depth, sizes.columns,
         reinterpret_cast<float*>(packed));
  return {};
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext&,
                                       const PackedWeights& packed) {
  const DenseSizes sizes(problem);
  const MatrixView weights = sizes.weights(nullptr);
  MatmulGeometry g;
  g.rows = sizes.rows;
  g.depth = sizes.depth;
  g.columns = sizes.columns;
  g.a_row = sizes.depth;
  g.a_column = 1;
  g.b_row = weights.row_stride;
  g.b_column = weights.column_stride;
  return make_gemm_matmul(problem, g, packed.bytes.empty() ? -1 : 1, packed);
}

}  // namespace

Status register_routine_dense_cpu_gemm(Registry& registry) {
  RoutineFunctions functions = float_layer();
  functions.packed_bytes = packed_bytes;
  functions.pack = pack;
  functions.create_with = create;
  return add_routines(registry, {"dense"}, {"cpu"}, "gemm", functions);
}

}  // namespace softneuro
