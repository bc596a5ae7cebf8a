// matmul_to_dense: a product with a constant matrix is a dense layer.
//
// Exact. y[…,N] = a[…,K] · b[K,N]: dense routines pack b once and take a bias. b may have leading
// dimensions of 1 where a has them too.
#include <algorithm>

#include "passes/pattern.h"

namespace softneuro {
namespace {

// b as a matrix; an empty tensor if it is none.
Tensor matrix_of(const Rewriter& rewriter, const Layer& layer) {
  const TensorDef& b = rewriter.tensor(layer.inputs[1]);
  if (!b.is_constant() || b.constant.shape().rank() < 2) return {};
  const Shape& shape = b.constant.shape();
  const int rank = shape.rank();
  if (rank == 2) return b.constant;
  // The result has b's leading dimensions too: only a's may count.
  const DynamicShape& a = rewriter.tensor(layer.inputs[0]).shape;
  if (!a.ranked() || a.rank() < rank || shape.elements(0, rank - 2) != 1) return {};
  const Result<Tensor> matrix = b.constant.reshaped(Shape{shape[rank - 2], shape[rank - 1]});
  return matrix.ok() ? *matrix : Tensor();
}

// A tensor of the graph that holds `matrix`: b itself, or a new one beside it.
TensorId matrix_tensor(Rewriter& rewriter, TensorId b, const Tensor& matrix) {
  const int extra = rewriter.tensor(b).constant.shape().rank() - 2;
  if (extra == 0) return b;
  const TensorId id = rewriter.add_constant(rewriter.tensor(b).name, matrix);
  if (const auto& quantization = rewriter.tensor(b).quantization) {
    Quantization moved = *quantization;
    moved.axis = std::max(moved.axis - extra, -1);
    // Per index of a leading dimension of 1: one pair for all.
    rewriter.tensor(id).quantization = std::move(moved);
  }
  return id;
}

}  // namespace

Status matmul_to_dense(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  if (layer.type->name != "matmul" || layer.params.integer("transpose_a") != 0 ||
      !is_float(rewriter.tensor(layer.outputs[0]).type) ||
      rewriter.tensor(layer.inputs[0]).is_constant())
    return {};
  const LayerType* const dense = rewriter.context().type("dense");
  if (dense == nullptr) return {};
  const Tensor matrix = matrix_of(rewriter, layer);
  if (matrix.empty()) return {};
  const TensorId weights = matrix_tensor(rewriter, layer.inputs[1], matrix);

  // dense and matmul have the same number of inputs so far: post-ops keep their places.
  Params params;
  params.set("transpose_weights", layer.params.integer("transpose_b"));
  retype(rewriter, i, *dense, std::move(params));
  rewriter.set_input(i, 1, weights);
  return {};
}

}  // namespace softneuro
