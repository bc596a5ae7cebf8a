// What passes ask of a graph while they look for a pattern.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/layer_type.h"
#include "passes/rewriter.h"

namespace softneuro {

// The producer of `id` if that is a layer of this type without post-ops and `id` is its first
// output; else −1.
int producer_of_type(const Rewriter& rewriter, TensorId id, std::string_view type);
// The layers of `matched` may be replaced by one that makes `result`: nothing else that they
// make is read outside of `matched` or is an output of the graph.
bool is_closed(const Rewriter& rewriter, std::span<const int> matched, TensorId result);

// Certainly `x` broadcasts to `y` and leaves y's shape as it is.
bool broadcasts_to(const DynamicShape& x, const DynamicShape& y);

// `a` is the constant `b` up to how the data type rounds: models write constants with as many
// digits as their tensors hold.
bool is_close(double a, double b, DataType type);

// The function of a layer of type unary or binary without post-ops; nothing for other layers.
std::optional<UnaryOp> unary_of(const Layer& layer);
std::optional<BinaryOp> binary_of(const Layer& layer);
// The layer that makes `id`, if it is this function without post-ops; else −1.
int find_unary(const Rewriter& rewriter, TensorId id, UnaryOp op);
int find_binary(const Rewriter& rewriter, TensorId id, BinaryOp op);
Params unary_params(UnaryOp op, double alpha = 0, double beta = 0);

// A tensor of the shape of x seen as alpha·x + beta. What divides by c is seen as 1/c·x, which
// rounds otherwise: what is made of it must have a rounding of its own beside that.
struct Linear {
  TensorId x = kNoTensor;
  double alpha = 1;
  double beta = 0;
  int layer = -1;  // the layer that computes it; −1: the tensor is x itself
};
// Of a layer: unary linear and neg, binary div by a scalar constant. Nothing for others.
std::optional<Linear> linear_of(const Rewriter& rewriter, int layer);
// Looks through the layer that makes `id` if it is such a one.
Linear strip_linear(const Rewriter& rewriter, TensorId id);
// `id` as a linear function of the tensor `x`: x itself, or one such layer away from it.
std::optional<Linear> linear_in(const Rewriter& rewriter, TensorId id, TensorId x);

// A layer that bounds its input: unary clip and relu.
struct Limits {
  double low;
  double high;
};
std::optional<Limits> limits_of(const Layer& layer);

// A reduction without post-ops that keeps its dimensions and whose axes are known.
struct Reduction {
  int layer;
  TensorId x;
  std::vector<int> axes;  // sorted, in [0, rank)
};
std::optional<Reduction> find_reduction(const Rewriter& rewriter, TensorId id, std::string_view op);
// `axes` are the last ones of a tensor of `rank`; then the first of them.
std::optional<int> trailing_axis(const std::vector<int>& axes, int rank);

// factor · x · gate, as the layer `root` computes it: a product, perhaps scaled, of a tensor,
// perhaps scaled, and another. Each layer on the way is in `layers`.
struct GatedProduct {
  double factor = 1;
  TensorId x = kNoTensor;
  TensorId gate = kNoTensor;
  std::vector<int> layers;
};
// All ways of seeing `root` so; both orders, scales looked through or not.
std::vector<GatedProduct> gated_products(const Rewriter& rewriter, int root);
// Which function of x a gated product of this type is, as parameters of unary; the gate's layers
// are appended to the product's. Nothing if it is another.
using GateMatcher = std::optional<Params> (*)(const Rewriter& rewriter, GatedProduct& product,
                                              DataType type);
// A pass that makes one layer of each gated product that `match` knows, for layer `i`.
Status fuse_gated_products(Rewriter& rewriter, int i, GateMatcher match);

// The permutation of a transpose without post-ops, written out; nothing for other layers, or if
// even the rank is unknown.
std::optional<std::vector<int>> permutation_of(const Rewriter& rewriter, const Layer& layer);
// The shape as a reshape's target that means the same for any input with as many elements: at most
// one dimension left open. A zero is a dimension of no elements, and leaves none open.
std::optional<std::vector<std::int64_t>> reshape_target(const DynamicShape& shape);
// Rewriter::replace by a reshape of `x`. Precondition: the layer type exists.
Status replace_by_reshape(Rewriter& rewriter, std::span<const int> matched, int root, TensorId x,
                          const std::vector<std::int64_t>& target);

// The integers of a constant input of a layer; nothing if left out or not constant.
std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, const Layer& layer,
                                                           std::size_t input);
bool has_input(const Layer& layer, std::size_t input);

}  // namespace softneuro
