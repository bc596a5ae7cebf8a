#include "passes/pattern.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/layers/transpose.h"
#include "passes/constants.h"

namespace softneuro {

int producer_of_type(const Rewriter& rewriter, TensorId id, std::string_view type) {
  const int i = rewriter.producer(id);
  if (i < 0) return -1;
  const Layer& maker = rewriter.layer(i);
  return maker.type->name == type && maker.post_ops.empty() && maker.outputs[0] == id ? i : -1;
}

bool is_closed(const Rewriter& rewriter, std::span<const int> matched, TensorId result) {
  const auto inside = [&](int i) {
    return std::find(matched.begin(), matched.end(), i) != matched.end();
  };
  for (const int i : matched)
    for (const TensorId id : rewriter.layer(i).outputs) {
      if (id == kNoTensor || id == result) continue;
      if (rewriter.is_output(id) || !rewriter.uses().all_of(id, inside)) return false;
    }
  return true;
}

bool broadcasts_to(const DynamicShape& x, const DynamicShape& y) {
  if (!x.ranked() || !y.ranked() || x.rank() > y.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim& dim = x[i];
    if (!(dim.known() && dim.value == 1) && !(dim == y[i + y.rank() - x.rank()])) return false;
  }
  return true;
}

bool is_close(double a, double b, DataType type) {
  const double tolerance = type == DataType::float16    ? 1e-3
                           : type == DataType::bfloat16 ? 8e-3
                                                        : 1e-6;
  return std::fabs(a - b) <= tolerance * std::max(std::fabs(b), 1e-3);
}

std::optional<UnaryOp> unary_of(const Layer& layer) {
  UnaryOp op{};
  if (layer.type->name != "unary" || !layer.post_ops.empty() || !parse(layer.params.text("op"), op))
    return std::nullopt;
  return op;
}

std::optional<BinaryOp> binary_of(const Layer& layer) {
  BinaryOp op{};
  if (layer.type->name != "binary" || !layer.post_ops.empty() ||
      !parse(layer.params.text("op"), op))
    return std::nullopt;
  return op;
}

int find_unary(const Rewriter& rewriter, TensorId id, UnaryOp op) {
  const int i = rewriter.producer(id);
  return i >= 0 && unary_of(rewriter.layer(i)) == op ? i : -1;
}

int find_binary(const Rewriter& rewriter, TensorId id, BinaryOp op) {
  const int i = rewriter.producer(id);
  return i >= 0 && binary_of(rewriter.layer(i)) == op ? i : -1;
}

Params unary_params(UnaryOp op, double alpha, double beta) {
  Params params;
  params.set("op", std::string(to_string(op)));
  params.set("alpha", alpha);
  params.set("beta", beta);
  return params;
}

std::optional<Linear> linear_of(const Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  const std::optional<UnaryOp> op = unary_of(layer);
  if (op == UnaryOp::neg) return Linear{layer.inputs[0], -1, 0, i};
  if (op == UnaryOp::linear)
    return Linear{layer.inputs[0], layer.params.real("alpha"), layer.params.real("beta"), i};
  if (binary_of(layer) != BinaryOp::div) return std::nullopt;
  const TensorDef &x = rewriter.tensor(layer.inputs[0]), &c = rewriter.tensor(layer.inputs[1]);
  const std::optional<double> divisor = scalar_of(rewriter.graph(), layer.inputs[1]);
  if (!divisor || !is_float(x.type) || x.is_constant() || !broadcasts_to(c.shape, x.shape) ||
      !std::isnormal(static_cast<float>(1 / *divisor)))
    return std::nullopt;
  return Linear{layer.inputs[0], 1 / *divisor, 0, i};
}

Linear strip_linear(const Rewriter& rewriter, TensorId id) {
  if (const int i = rewriter.producer(id); i >= 0)
    if (const std::optional<Linear> linear = linear_of(rewriter, i)) return *linear;
  return Linear{id, 1, 0, -1};
}

std::optional<Linear> linear_in(const Rewriter& rewriter, TensorId id, TensorId x) {
  if (id == x) return Linear{x, 1, 0, -1};
  const Linear linear = strip_linear(rewriter, id);
  if (linear.layer < 0 || linear.x != x) return std::nullopt;
  return linear;
}

std::optional<Limits> limits_of(const Layer& layer) {
  const std::optional<UnaryOp> op = unary_of(layer);
  if (op == UnaryOp::relu) return Limits{0, INFINITY};
  if (op == UnaryOp::clip) return Limits{layer.params.real("alpha"), layer.params.real("beta")};
  return std::nullopt;
}

std::optional<Reduction> find_reduction(const Rewriter& rewriter, TensorId id,
                                        std::string_view op) {
  const int i = producer_of_type(rewriter, id, "reduce");
  if (i < 0) return std::nullopt;
  const Layer& layer = rewriter.layer(i);
  if (layer.params.text("op") != op || layer.params.integer("keepdims", 1) == 0)
    return std::nullopt;
  const DynamicShape& shape = rewriter.tensor(layer.inputs[0]).shape;
  if (!shape.ranked()) return std::nullopt;
  Reduction reduction{i, layer.inputs[0], {}};
  if (has_input(layer, 1)) {
    const TensorDef& axes = rewriter.tensor(layer.inputs[1]);
    if (!axes.is_constant()) return std::nullopt;
    for (const std::int64_t axis :
         integers_of(axes.constant).value_or(std::vector<std::int64_t>{})) {
      const Result<int> normal = normalize_axis(axis, shape.rank());
      if (!normal.ok()) return std::nullopt;
      reduction.axes.push_back(*normal);
    }
  }
  if (reduction.axes.empty()) {
    if (layer.params.integer("noop_with_empty_axes") != 0) return std::nullopt;
    reduction.axes.resize(static_cast<std::size_t>(shape.rank()));
    std::iota(reduction.axes.begin(), reduction.axes.end(), 0);
  }
  std::sort(reduction.axes.begin(), reduction.axes.end());
  return reduction;
}

std::optional<int> trailing_axis(const std::vector<int>& axes, int rank) {
  const int count = static_cast<int>(axes.size());
  if (count == 0 || count > rank) return std::nullopt;
  for (int i = 0; i < count; ++i)
    if (axes[static_cast<std::size_t>(i)] != rank - count + i) return std::nullopt;
  return rank - count;
}

std::vector<GatedProduct> gated_products(const Rewriter& rewriter, int root) {
  GatedProduct outer;
  int product = root;
  if (const std::optional<Linear> scale = linear_of(rewriter, root)) {
    if (scale->beta != 0) return {};
    outer.factor = scale->alpha;
    outer.layers.push_back(root);
    product = rewriter.producer(scale->x);
  }
  if (product < 0 || binary_of(rewriter.layer(product)) != BinaryOp::mul) return {};
  outer.layers.push_back(product);

  std::vector<GatedProduct> found;
  const std::vector<TensorId>& operands = rewriter.layer(product).inputs;
  for (const int k : {0, 1}) {
    GatedProduct seen = outer;
    seen.x = operands[static_cast<std::size_t>(k)];
    seen.gate = operands[static_cast<std::size_t>(1 - k)];
    found.push_back(seen);
    const Linear scaled = strip_linear(rewriter, seen.x);
    if (scaled.layer < 0 || scaled.beta != 0) continue;
    seen.factor *= scaled.alpha;
    seen.x = scaled.x;
    seen.layers.push_back(scaled.layer);
    found.push_back(std::move(seen));
  }
  return found;
}

Status fuse_gated_products(Rewriter& rewriter, int i, GateMatcher match) {
  const TensorId y = rewriter.layer(i).outputs[0];
  for (GatedProduct& product : gated_products(rewriter, i)) {
    std::optional<Params> params = match(rewriter, product, rewriter.tensor(y).type);
    if (!params || !is_closed(rewriter, product.layers, y)) continue;
    const LayerType* const unary = rewriter.context().type("unary");
    if (unary == nullptr ||
        rewriter.replace(product.layers, i, *unary, {product.x}, *std::move(params)))
      break;
  }
  return {};
}

std::optional<std::vector<int>> permutation_of(const Rewriter& rewriter, const Layer& layer) {
  if (layer.type->name != "transpose" || !layer.post_ops.empty()) return std::nullopt;
  const DynamicShape& y = rewriter.tensor(layer.outputs[0]).shape;
  if (!y.ranked()) return std::nullopt;
  Result<std::vector<int>> order = transpose_order(layer.params, y.rank());
  return order.ok() ? std::optional(*std::move(order)) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> reshape_target(const DynamicShape& shape) {
  if (!shape.ranked()) return std::nullopt;
  std::vector<std::int64_t> target;
  for (const Dim& dim : shape.dims()) target.push_back(dim.known() ? dim.value : -1);
  const bool has_zero = std::count(target.begin(), target.end(), 0) > 0;
  if (std::count(target.begin(), target.end(), -1) > (has_zero ? 0 : 1)) return std::nullopt;
  return target;
}

Status replace_by_reshape(Rewriter& rewriter, std::span<const int> matched, int root, TensorId x,
                          const std::vector<std::int64_t>& target) {
  SN_ASSIGN_OR_RETURN(Tensor shape, make_integers(target, rewriter.context().allocator()));
  const TensorId shape_id =
      rewriter.add_constant(rewriter.layer(root).name + "_shape", std::move(shape));
  Params params;
  params.set("allow_zero", std::int64_t{1});
  rewriter.replace(matched, root, *rewriter.context().type("reshape"), {x, shape_id},
                   std::move(params));
  return {};
}

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, const Layer& layer,
                                                           std::size_t input) {
  if (!has_input(layer, input)) return std::nullopt;
  const TensorDef& def = graph.tensor(layer.inputs[input]);
  if (!def.is_constant()) return std::nullopt;
  return integers_of(def.constant);
}

bool has_input(const Layer& layer, std::size_t input) {
  return input < layer.layer_inputs && layer.inputs[input] != kNoTensor;
}

}  // namespace softneuro
