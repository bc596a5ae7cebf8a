// fuse_softmax: exp(x) / Σ exp(x) along one axis, with or without x − max(x), is a softmax.
//
//   e = exp(x)  or  exp(x − reduce_max(x));   y = e / reduce_sum(e)  or  e · reciprocal(…)
//
// The logarithm of a softmax is one with log = 1, which keeps the digits of small results.
// Exact up to rounding. The layer type softmax always takes the maximum off first: where the model
// does not, results differ where its exponentials overflow or vanish, and where an input is
// infinite, which makes NaN of all beside it.
#include "passes/pattern.h"

namespace softneuro {
namespace {

struct Match {
  TensorId x;
  int axis;
  std::vector<int> layers;
};

// The exponentials and their sum: y = e / s.
std::optional<Match> match_quotient(const Rewriter& rewriter, TensorId e, TensorId s, Match match) {
  const int exponential = find_unary(rewriter, e, UnaryOp::exp);
  const std::optional<Reduction> sum = find_reduction(rewriter, s, "sum");
  if (exponential < 0 || !sum || sum->x != e || sum->axes.size() != 1) return std::nullopt;
  match.axis = sum->axes[0];
  match.x = rewriter.layer(exponential).inputs[0];
  match.layers.insert(match.layers.end(), {exponential, sum->layer});

  const int shift = find_binary(rewriter, match.x, BinaryOp::sub);
  if (shift < 0) return match;
  const Layer& layer = rewriter.layer(shift);
  const std::optional<Reduction> max = find_reduction(rewriter, layer.inputs[1], "max");
  // Any other axes would be taken off too, and cancel; but only this one is the usual form.
  if (!max || max->x != layer.inputs[0] || max->axes != sum->axes) return match;
  match.x = layer.inputs[0];
  match.layers.insert(match.layers.end(), {shift, max->layer});
  return match;
}

std::optional<Match> match_softmax(const Rewriter& rewriter, int root) {
  const std::optional<BinaryOp> op = binary_of(rewriter.layer(root));
  const Match empty{kNoTensor, 0, {root}};
  const std::vector<TensorId>& operands = rewriter.layer(root).inputs;
  if (op == BinaryOp::div) return match_quotient(rewriter, operands[0], operands[1], empty);
  if (op != BinaryOp::mul) return std::nullopt;
  for (const std::size_t k : {0u, 1u}) {
    const int inverse = find_unary(rewriter, operands[1 - k], UnaryOp::reciprocal);
    if (inverse < 0) continue;
    Match start = empty;
    start.layers.push_back(inverse);
    const TensorId sum = rewriter.layer(inverse).inputs[0];
    if (auto match = match_quotient(rewriter, operands[k], sum, start)) return match;
  }
  return std::nullopt;
}

}  // namespace

Status fuse_softmax(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* softmax = context.type("softmax");
  for (int i = 0; softmax != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    const std::optional<Match> match = match_softmax(rewriter, i);
    if (!match || !is_closed(rewriter, match->layers, rewriter.layer(i).outputs[0])) continue;
    Params params;
    params.set("axis", std::int64_t{match->axis});
    rewriter.replace(match->layers, i, *softmax, {match->x}, std::move(params));
  }
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || unary_of(rewriter.layer(i)) != UnaryOp::log) continue;
    const TensorId x = rewriter.layer(i).inputs[0];
    const int before = producer_of_type(rewriter, x, "softmax");
    if (before < 0 || !rewriter.has_single_use(x) ||
        rewriter.layer(before).params.integer("log") != 0)
      continue;
    rewriter.layer(before).params.set("log", std::int64_t{1});
    absorb(rewriter, before, i);
  }
  return rewriter.finish();
}

}  // namespace softneuro
