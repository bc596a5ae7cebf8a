// A dense layer as a product: x[rows, depth] · w[depth, columns].
#pragma once

#include "core/routine/problem.h"
#include "cpu/gemm/gemm.h"

namespace softneuro {

struct DenseSizes {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool transposed = false;  // weights are [columns, depth]

  DenseSizes() = default;
  explicit DenseSizes(const Problem& problem) {
    const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape;
    transposed = problem.params.integer("transpose_weights") != 0;
    rows = x.elements(0, x.rank() - 1);
    depth = w[transposed ? 1 : 0];
    columns = w[transposed ? 0 : 1];
  }
  // From column `column` on.
  MatrixView weights(const float* data, std::int64_t column = 0) const noexcept {
    return transposed ? MatrixView{data + column * depth, 1, depth}
                      : MatrixView{data + column, columns, 1};
  }
};

}  // namespace softneuro
