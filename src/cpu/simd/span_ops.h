// Element-wise functions over runs of float32 in memory: what unary, binary and fused post-ops are
// made of. One variant per instruction set; an element's result depends on its operands only,
// never on where in a run it stands.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "core/graph/elementwise.h"

namespace softneuro {

// y[r, c] = f(a[r, c], b[r, c]) for r < rows, c < columns. y is dense (row after row); a's and b's
// rows begin row_stride elements apart, and a column stride of 0 means one element for all columns.
struct BinarySpan {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;  // may be a or b where their strides are those of y
  std::int64_t rows = 1, columns = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  bool a_is_row_constant = false, b_is_row_constant = false;  // column stride 0, else 1
};

struct SpanOps {
  // y[i] = f(x[i]; alpha, beta) for i < count; y may be x. Not for is_nan and is_inf, whose
  // results are booleans.
  void (*unary)(UnaryOp op, const float* x, float* y, std::int64_t count, float alpha,
                float beta) noexcept;
  // Not for bit operations, nor for those that give booleans.
  void (*binary)(BinaryOp op, const BinarySpan& span) noexcept;
};

// The best variant for this processor, or for one with these features.
SN_INTREE const SpanOps& span_ops() noexcept;
SN_INTREE const SpanOps& span_ops(CpuFeatures features) noexcept;

// What SpanOps covers.
inline bool is_span_op(UnaryOp op) noexcept {
  return op < UnaryOp::bitwise_not;
}
inline bool is_span_op(BinaryOp op) noexcept {
  return op <= BinaryOp::prelu;
}

}  // namespace softneuro
