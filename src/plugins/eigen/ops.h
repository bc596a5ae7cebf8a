// What Eigen computes, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"

namespace softneuro {

// y[rows, columns] = a[rows, depth] · b[depth, columns] in float32, y by rows, each row y_stride
// elements after the one before it. An operand is stored by rows, too, or by columns if it is
// transposed; its stride is the distance between those.
struct EigenProduct {
  std::int64_t rows = 0, depth = 0, columns = 0;
  std::int64_t a_stride = 0, b_stride = 0, y_stride = 0;
  bool a_transposed = false, b_transposed = false;
};

struct EigenOps {
  // Floats of workspace that multiply() needs, for any product of at most these sizes.
  std::int64_t (*workspace)(std::int64_t rows, std::int64_t depth, std::int64_t columns) noexcept;
  // `workspace`: aligned to 64 bytes.
  void (*multiply)(const EigenProduct& product, const float* a, const float* b, float* y,
                   float* workspace) noexcept;
  // Of the n × n matrix x. `workspace`: n² elements, aligned to 64 bytes; `swaps`: n. n is at most
  // kLargestEigenMatrix, beyond which the library would take memory from the heap.
  double (*determinant)(const float* x, std::int64_t n, double* workspace, int* swaps) noexcept;
};

inline constexpr std::int64_t kLargestEigenMatrix = 256;

const EigenOps& eigen_ops() noexcept;
const EigenOps& eigen_ops(CpuFeatures features) noexcept;

}  // namespace softneuro
