#include "plugins/cuda/products/matmul.h"

#include "core/base/error.h"
#include "softneuro/allocator.h"

namespace softneuro::cuda {
namespace {

// What NVIDIA's documentation recommends for its newest GPUs; a choice takes what it needs of it.
constexpr std::size_t kMostWorkspaceBytes = std::size_t{32} << 20;

}  // namespace

// cuBLASLt's descriptors; destroyed with the Matmul. Its handle is the GPU's.
struct Matmul::Handles {
  Handles(Gpu& used, const CublasLt& table, CUcontext of_gpu, cublasLtHandle_t shared)
      : gpu(used), blas(table), context(of_gpu), library(shared) {}
  ~Handles() {
    const CurrentContext current(gpu.driver(), context);
    if (preference != nullptr) blas.cublasLtMatmulPreferenceDestroy(preference);
    for (const cublasLtMatrixLayout_t layout : {w, x, y})
      if (layout != nullptr) blas.cublasLtMatrixLayoutDestroy(layout);
    if (matmul != nullptr) blas.cublasLtMatmulDescDestroy(matmul);
  }
  Status describe(const GemmShape& shape, const void* bias);
  Status describe_layouts(const GemmShape& shape);
  Status choose(cublasLtMatmulHeuristicResult_t& best);
  template <class T>
  Status set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return blas.check(blas.cublasLtMatmulDescSetAttribute(matmul, attribute, &value, sizeof(value)),
                      "cublasLtMatmulDescSetAttribute");
  }
  template <class T>
  Status prefer(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    return blas.check(
        blas.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
  }

  Gpu& gpu;
  const CublasLt& blas;
  const CUcontext context;
  const cublasLtHandle_t library;
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
};

// The library's matrices are column-major, so that it computes yᵀ = wᵀ · xᵀ: row-major matrices
// are the transposed ones as they are stored.
Status Matmul::Handles::describe(const GemmShape& shape, const void* bias) {
  SN_RETURN_IF_ERROR(
      blas.check(blas.cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate"));
  SN_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (bias != nullptr) {
    SN_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS));
    SN_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  }
  return describe_layouts(shape);
}

Status Matmul::Handles::describe_layouts(const GemmShape& shape) {
  const auto make = [&](cublasLtMatrixLayout_t& layout, std::int64_t rows, std::int64_t columns) {
    return blas.check(
        blas.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
  };
  SN_RETURN_IF_ERROR(shape.transpose_b ? make(w, shape.k, shape.n) : make(w, shape.n, shape.k));
  SN_RETURN_IF_ERROR(make(x, shape.k, shape.m));
  return make(y, shape.n, shape.m);
}

Status Matmul::Handles::choose(cublasLtMatmulHeuristicResult_t& best) {
  SN_RETURN_IF_ERROR(blas.check(blas.cublasLtMatmulPreferenceCreate(&preference),
                                "cublasLtMatmulPreferenceCreate"));
  SN_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes));
  const std::uint32_t alignment = kTensorAlignment;
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    SN_RETURN_IF_ERROR(prefer(attribute, alignment));
  int found = 0;
  const cublasStatus_t status = blas.cublasLtMatmulAlgoGetHeuristic(library, matmul, w, x, y, y,
                                                                    preference, 1, &best, &found);
  SN_RETURN_IF_ERROR(blas.check(status, "cublasLtMatmulAlgoGetHeuristic"));
  if (found == 0) return unsupported("cuBLASLt has no algorithm for this matrix product");
  return blas.check(best.state, "cublasLtMatmulAlgoGetHeuristic");
}

Matmul::Matmul(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul::~Matmul() = default;

Result<Matmul> Matmul::create(Gpu& gpu, const CublasLt& library, const GemmShape& shape,
                              const void* bias) {
  SN_ASSIGN_OR_RETURN(const CUcontext context, gpu.context());
  const CurrentContext current(gpu.driver(), context);
  SN_RETURN_IF_ERROR(current.status());
  SN_ASSIGN_OR_RETURN(const cublasLtHandle_t handle, gpu.handle(library));
  Matmul gemm(std::make_unique<Handles>(gpu, library, context, handle));
  SN_RETURN_IF_ERROR(gemm.handles_->describe(shape, bias));
  SN_RETURN_IF_ERROR(gemm.handles_->choose(gemm.algorithm_));
  return gemm;
}

Status Matmul::launch(CudaStream& stream, const void* x, const void* w, void* y,
                      void* workspace) const noexcept {
  const CurrentContext current(stream.gpu().driver(), stream.context());
  SN_RETURN_IF_ERROR(current.status());
  const float one = 1, zero = 0;
  const Handles& h = *handles_;
  return h.blas.check(
      h.blas.cublasLtMatmul(h.library, h.matmul, &one, w, h.w, x, h.x, &zero, y, h.y, y, h.y,
                            &algorithm_.algo, workspace, algorithm_.workspaceSize, stream.handle()),
      "cublasLtMatmul");
}

}  // namespace softneuro::cuda
