// fuse_hard_sigmoid: a straight line clipped to [0, 1] is a hard sigmoid.
//
//   clip(x + 3, 0, 6) / 6,  clip(x / 6 + 0.5, 0, 1): hard_sigmoid(alpha = 1/6, beta = 1/2)
//
// In general c · clip(a·x + b, low, high) + d with c > 0, c·low + d = 0 and c·high + d = 1; the
// line may be two linear functions. Small results lose digits, as far as they are small beside 1
// and the line's shift: a line with a shift of many units stays as it is.
#include <cmath>

#include "passes/pattern.h"
#include "passes/rounding.h"

namespace softneuro {
namespace {

// Looks through one or two layers.
Linear strip_line(const Rewriter& rewriter, TensorId id, std::vector<int>& layers) {
  Linear line = strip_linear(rewriter, id);
  if (line.layer >= 0) layers.push_back(line.layer);
  if (line.layer < 0 || !rewriter.has_single_use(line.x)) return line;
  const Linear inner = strip_linear(rewriter, line.x);
  if (inner.layer < 0) return line;
  layers.push_back(inner.layer);
  return {inner.x, line.alpha * inner.alpha, line.alpha * inner.beta + line.beta, line.layer};
}

}  // namespace

Status fuse_hard_sigmoid(Rewriter& rewriter, int i) {
  const TensorId y = rewriter.layer(i).outputs[0];
  if (y == kNoTensor) return {};
  std::vector<int> matched = {i};
  Linear outer;
  int clip = i;
  if (const auto scaled = linear_of(rewriter, i)) {
    outer = *scaled;
    clip = rewriter.producer(outer.x);
    matched.push_back(clip);
  }
  const auto limits = clip < 0 ? std::nullopt : limits_of(rewriter.layer(clip));
  const DataType type = rewriter.tensor(y).type;
  if (!limits || !(outer.alpha > 0) || !is_close(outer.alpha * limits->low + outer.beta, 0, type) ||
      !is_close(outer.alpha * limits->high + outer.beta, 1, type))
    return {};
  const Linear inner = strip_line(rewriter, rewriter.layer(clip).inputs[0], matched);
  const double shift = outer.alpha * inner.beta + outer.beta;
  // A plain clip(x, 0, 1) is simpler than a hard sigmoid.
  if (inner.layer < 0 || !(std::fabs(shift) <= kMostUnitsOfShift) ||
      !is_closed(rewriter, matched, y))
    return {};
  const LayerType* const unary = rewriter.context().type("unary");
  if (unary == nullptr) return {};
  rewriter.replace(matched, i, *unary, {inner.x},
                   unary_params(UnaryOp::hard_sigmoid, outer.alpha * inner.alpha, shift));
  return {};
}

}  // namespace softneuro
