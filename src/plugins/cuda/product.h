// Matrix products by cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/cuda/cublaslt.h"
#include "plugins/cuda/cuda_stream.h"

namespace softneuro::cuda {

// y[rows, columns] = x[rows, depth] · w (+ bias[columns]), row-major float32, in float32 throughout
// (no TF32). Immutable.
class Product {
 public:
  struct Sizes {
    std::int64_t rows = 0, depth = 0, columns = 0;  // > 0
    bool is_transposed = false;                     // w is [columns, depth], else [depth, columns]
  };

  // `bias`: on the device, lives as long as the product; null: none. Both outlive the product.
  static Result<Product> create(CudaDevice& device, const CublasLt& library, const Sizes& sizes,
                                const void* bias);
  Product(Product&&) noexcept;
  ~Product();

  std::size_t workspace_bytes() const noexcept { return algorithm_.workspaceSize; }
  Status launch(CudaStream& stream, const void* x, const void* w, void* y,
                void* workspace) const noexcept;

 private:
  struct Handles;
  explicit Product(std::unique_ptr<Handles> handles);

  std::unique_ptr<Handles> handles_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace softneuro::cuda
