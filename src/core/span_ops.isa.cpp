#include "core/span_ops.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

void unary(UnaryOp op, const float* x, float* y, std::int64_t count, float alpha,
           float beta) noexcept {
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(apply(op, x[i], alpha, beta));
}

void binary(BinaryOp op, const BinarySpan& span) noexcept {
  float* y = span.y;
  for (std::int64_t r = 0; r < span.rows; ++r)
    for (std::int64_t c = 0; c < span.columns; ++c) {
      const float a = span.a[r * span.a_row_stride + (span.a_is_row_constant ? 0 : c)];
      const float b = span.b[r * span.b_row_stride + (span.b_is_row_constant ? 0 : c)];
      *y++ = static_cast<float>(apply(op, a, b));
    }
}

}  // namespace

extern const SpanOps kSpanOps;
const SpanOps kSpanOps = {unary, binary};

}  // namespace softneuro::SN_ISA_NAMESPACE
