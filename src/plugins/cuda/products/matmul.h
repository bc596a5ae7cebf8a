// Matrix products by cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/cuda/device/cuda_stream.h"
#include "plugins/cuda/libraries/cublaslt.h"

namespace softneuro::cuda {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;  // > 0
  bool transpose_b = false;          // w is [n, k], else [k, n]
};

// y[m, n] = x[m, k] · w (+ bias[n]), row-major float32, in float32 throughout (no TF32). Immutable.
class Matmul {
 public:
  // `bias`: on the device; nullptr: none. `library` and `bias` must outlive this object.
  static Result<Matmul> create(Gpu& gpu, const CublasLt& library, const GemmShape& shape,
                               const void* bias);
  Matmul(Matmul&&) noexcept;
  ~Matmul();

  std::size_t workspace_bytes() const noexcept { return algorithm_.workspaceSize; }
  Status launch(CudaStream& stream, const void* x, const void* w, void* y,
                void* workspace) const noexcept;

 private:
  struct Handles;
  explicit Matmul(std::unique_ptr<Handles> handles);

  std::unique_ptr<Handles> handles_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace softneuro::cuda
