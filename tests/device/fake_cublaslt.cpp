// cuBLASLt's products of float32 with a bias, by loops.
#include <cstring>
#include <map>
#include <vector>

#include "device/fake_cuda.h"

namespace softneuro::test {
namespace {

constexpr std::size_t kWorkspaceBytes = 1000;

struct FakeMatmul {
  bool is_transposed = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
};
struct FakeLayout {
  std::uint64_t rows, columns;
  std::int64_t stride;
};

FakeMatmul& of(cublasLtMatmulDesc_t matmul) {
  return *reinterpret_cast<FakeMatmul*>(matmul);
}
FakeLayout& of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<FakeLayout*>(layout);
}

const char* status_string(cublasStatus_t) {
  return "an error of the test's library";
}
std::size_t version() {
  return 130002;
}
cublasStatus_t create(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t create_matmul(cublasLtMatmulDesc_t* matmul, cublasComputeType_t compute,
                             cudaDataType_t type) {
  if (compute != CUBLAS_COMPUTE_32F || type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  *matmul = reinterpret_cast<cublasLtMatmulDesc_t>(new FakeMatmul);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy_matmul(cublasLtMatmulDesc_t matmul) {
  delete &of(matmul);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_matmul(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t attribute,
                          const void* value, std::size_t bytes) {
  const auto set = [&](auto& field) {
    if (bytes != sizeof(field)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  cublasOperation_t operation = CUBLAS_OP_N;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: {
      const cublasStatus_t status = set(operation);
      of(matmul).is_transposed = operation == CUBLAS_OP_T;
      return status;
    }
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(of(matmul).epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(of(matmul).bias);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
cublasStatus_t create_layout(cublasLtMatrixLayout_t* layout, cudaDataType, std::uint64_t rows,
                             std::uint64_t columns, std::int64_t stride) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new FakeLayout{rows, columns, stride});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy_layout(cublasLtMatrixLayout_t layout) {
  delete &of(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t create_preference(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy_preference(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<int*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_preference(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                              const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
// Sizes must fit, as the library wants it.
cublasStatus_t choose(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, cublasLtMatrixLayout_t a,
                      cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                      cublasLtMatmulPreference_t, int wanted,
                      cublasLtMatmulHeuristicResult_t results[], int* found) {
  const bool transposed = of(matmul).is_transposed;
  const std::uint64_t depth = transposed ? of(a).rows : of(a).columns;
  const std::uint64_t rows = transposed ? of(a).columns : of(a).rows;
  const bool fits = depth == of(b).rows && rows == of(c).rows && of(b).columns == of(c).columns;
  *found = fits && wanted > 0 ? 1 : 0;
  results[0] = {};
  results[0].workspaceSize = kWorkspaceBytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

struct Call {
  FakeMatmul matmul;
  FakeLayout a_layout, b_layout, d_layout;
  const float *a, *b;
  float* d;
  void* workspace;

  void run() const {
    std::memset(workspace, 0xff, kWorkspaceBytes);
    const std::uint64_t depth = b_layout.rows;
    for (std::uint64_t j = 0; j < d_layout.columns; ++j)
      for (std::uint64_t i = 0; i < d_layout.rows; ++i) {
        double sum = matmul.epilogue == CUBLASLT_EPILOGUE_BIAS ? matmul.bias[i] : 0;
        const auto a_stride = static_cast<std::uint64_t>(a_layout.stride);
        for (std::uint64_t k = 0; k < depth; ++k)
          sum += static_cast<double>(matmul.is_transposed ? a[i * a_stride + k]
                                                          : a[k * a_stride + i]) *
                 b[j * static_cast<std::uint64_t>(b_layout.stride) + k];
        d[j * static_cast<std::uint64_t>(d_layout.stride) + i] = static_cast<float>(sum);
      }
  }
};

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, const void* alpha,
                        const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                        cublasLtMatrixLayout_t b_layout, const void* beta, const void*,
                        cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                        const cublasLtMatmulAlgo_t*, void* workspace, std::size_t workspace_bytes,
                        cudaStream_t stream) {
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 ||
      workspace_bytes < kWorkspaceBytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Call call{of(matmul),
                  of(a_layout),
                  of(b_layout),
                  of(d_layout),
                  static_cast<const float*>(a),
                  static_cast<const float*>(b),
                  static_cast<float*>(d),
                  workspace};
  return put_into(stream, [call] { call.run(); }) ? CUBLAS_STATUS_SUCCESS
                                                  : CUBLAS_STATUS_EXECUTION_FAILED;
}

cuda::CublasLt make_cublaslt() {
  cuda::CublasLt library;
  library.cublasLtGetStatusString = status_string;
  library.cublasLtGetVersion = version;
  library.cublasLtCreate = create;
  library.cublasLtDestroy = destroy;
  library.cublasLtMatmulDescCreate = create_matmul;
  library.cublasLtMatmulDescDestroy = destroy_matmul;
  library.cublasLtMatmulDescSetAttribute = set_matmul;
  library.cublasLtMatrixLayoutCreate = create_layout;
  library.cublasLtMatrixLayoutDestroy = destroy_layout;
  library.cublasLtMatmulPreferenceCreate = create_preference;
  library.cublasLtMatmulPreferenceDestroy = destroy_preference;
  library.cublasLtMatmulPreferenceSetAttribute = set_preference;
  library.cublasLtMatmulAlgoGetHeuristic = choose;
  library.cublasLtMatmul = multiply;
  library.path = "the test's library";
  return library;
}

}  // namespace

Result<const cuda::CublasLt*> fake_cublaslt() {
  static const cuda::CublasLt library = make_cublaslt();
  return &library;
}

}  // namespace softneuro::test
