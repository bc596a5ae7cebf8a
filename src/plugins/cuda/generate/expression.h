// Element-wise functions as CUDA C++: those of core/graph/elementwise.h in float32.
#pragma once

#include "core/graph/graph.h"

namespace softneuro::cuda {

// Of `float` variables x, a (alpha) and b (beta); null: there is no such function of real numbers.
const char* expression(UnaryOp op);
// Of `float` variables p and q likewise.
const char* expression(BinaryOp op);
inline const char* expression(const PostOp& op) {
  return op.kind == PostOp::Kind::unary ? expression(op.unary) : expression(op.binary);
}

}  // namespace softneuro::cuda
