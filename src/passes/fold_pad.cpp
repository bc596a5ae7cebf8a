// fold_pad: a pad of spatial axes before a convolution or pool becomes its own padding.
//
//   conv, lp_pool:  pads of zeros
//   avg_pool:       pads of zeros, which then count as elements (count_include_pad)
//   max_pool:       pads of −∞, or of zeros where the input is never negative and no window can
//                   lie in the padding alone
//
// Exact; a window of −∞ alone stays −∞ where the model has the lowest number as padding. Pools only
// without ceil_mode, whose last window ends with the padding it knows of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/layers/pad.h"
#include "core/layers/window.h"
#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

// The number of spatial dimensions if the layer type is `family` + "1", "2" or "3"; else 0.
int spatial_rank(const Layer& layer, std::string_view family) {
  const std::string& name = layer.type->name;
  if (name.size() != family.size() + 1 || !name.starts_with(family)) return 0;
  const int rank = name.back() - '0';
  return rank >= 1 && rank <= 3 ? rank : 0;
}

struct SpatialPad {
  TensorId x;
  double value;
  std::vector<std::int64_t> pads;  // begins, then ends, of the spatial axes
};

std::optional<SpatialPad> spatial_pad(const Rewriter& rewriter, int i, int axes) {
  const Layer& layer = rewriter.layer(i);
  const Graph& graph = rewriter.graph();
  const DynamicShape& shape = rewriter.tensor(layer.inputs[0]).shape;
  const auto pads = constant_integers(graph, layer, 1);
  const auto pad_axes = constant_integers(graph, layer, 3);
  if (layer.params.text("mode") != "constant" || !shape.ranked() || shape.rank() != axes + 2 ||
      !pads || (has_input(layer, 3) && !pad_axes))
    return std::nullopt;
  const auto value = has_input(layer, 2) ? scalar_of(graph, layer.inputs[2]) : 0.0;
  const auto amounts = pad_amounts(shape.rank(), *pads, pad_axes);
  if (!value || !amounts.ok()) return std::nullopt;
  SpatialPad found{layer.inputs[0], *value,
                   std::vector<std::int64_t>(2 * static_cast<std::size_t>(axes))};
  for (std::size_t a = 0; a < amounts->size(); ++a) {
    const PadAmount& amount = (*amounts)[a];
    const bool none = amount.before == 0 && amount.after == 0;
    if (amount.before < 0 || amount.after < 0 || (a < 2 && !none)) return std::nullopt;
    if (a < 2) continue;
    found.pads[a - 2] = amount.before;
    found.pads[a - 2 + static_cast<std::size_t>(axes)] = amount.after;
  }
  return found;
}

bool is_never_negative(UnaryOp op, double alpha, double beta) {
  switch (op) {
    case UnaryOp::relu:
    case UnaryOp::sigmoid:
    case UnaryOp::hard_sigmoid:
    case UnaryOp::softplus:
    case UnaryOp::abs:
    case UnaryOp::exp:
    case UnaryOp::square:
      return true;
    case UnaryOp::clip:
      return alpha >= 0 && beta >= 0;
    case UnaryOp::fake_quantize:
      return beta >= 0;
    default:
      return false;
  }
}

// By what its producer does last.
bool is_never_negative(const Rewriter& rewriter, TensorId id) {
  const int i = rewriter.producer(id);
  if (i < 0 || rewriter.layer(i).outputs[0] != id) return false;
  const Layer& layer = rewriter.layer(i);
  if (!layer.post_ops.empty()) {
    const PostOp& last = layer.post_ops.back();
    return last.kind == PostOp::Kind::unary && is_never_negative(last.unary, last.alpha, last.beta);
  }
  const auto op = unary_of(layer);
  return op && is_never_negative(*op, layer.params.real("alpha"), layer.params.real("beta"));
}

// The layer's own padding and the pad's together; empty if a window could then see padding alone
// (which libraries refuse) or the layer does not pad explicitly.
std::vector<std::int64_t> joint_pads(const Rewriter& rewriter, const Layer& layer, int axes,
                                     const SpatialPad& pad) {
  const std::string_view mode = layer.params.text("auto_pad", "explicit");
  const auto layer_pads = layer.params.integers("pads");
  const auto dilations = layer.params.integers("dilations");
  const auto kernel = layer.params.integers("kernel");
  if (mode != "explicit" && mode != "valid") return {};
  std::vector<std::int64_t> joint = pad.pads;
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const std::size_t axis = i % static_cast<std::size_t>(axes);
    if (mode == "explicit" && i < layer_pads.size()) joint[i] += layer_pads[i];
    std::int64_t size = -1;
    if (axis < kernel.size())
      size = kernel[axis];
    else if (const DynamicShape& w = rewriter.tensor(layer.inputs[1]).shape; w.ranked())
      size = w[static_cast<int>(axis) + 2].value;
    const std::int64_t dilation = axis < dilations.size() ? dilations[axis] : 1;
    if (size < 1 || joint[i] > dilation * (size - 1)) return {};
  }
  return joint;
}

bool can_ignore_zeros(const Rewriter& rewriter, const Layer& pool, const SpatialPad& pad) {
  const auto dilations = pool.params.integers("dilations");
  const DynamicShape& x = rewriter.tensor(pad.x).shape;
  for (int i = 2; i < x.rank(); ++i)
    if (x[i].value < 1) return false;
  return pad.value == 0 && is_never_negative(rewriter, pad.x) &&
         std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; });
}

// Whether the layer's own padding means the same as the pad's value does.
bool means_the_same(const Rewriter& rewriter, const Layer& layer, const SpatialPad& pad) {
  if (spatial_rank(layer, "conv") > 0) return pad.value == 0;
  if (layer.params.integer("ceil_mode") != 0) return false;
  if (spatial_rank(layer, "lp_pool") > 0) return pad.value == 0;
  if (spatial_rank(layer, "avg_pool") > 0)
    return pad.value == 0 &&
           (layer.params.integer("count_include_pad") != 0 || pads_nothing(layer.params));
  // Indices of the maxima would count the padding.
  if (layer.outputs.size() != 1) return false;
  const bool lowest = pad.value == -INFINITY || pad.value == std::numeric_limits<float>::lowest();
  return lowest || can_ignore_zeros(rewriter, layer, pad);
}

}  // namespace

Status fold_pad(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  int axes = 0;
  for (const char* family : {"conv", "avg_pool", "max_pool", "lp_pool"})
    axes = std::max(axes, spatial_rank(layer, family));
  if (axes == 0) return {};
  const TensorId padded = layer.inputs[0];
  const int before = producer_of_type(rewriter, padded, "pad");
  if (before < 0 || !rewriter.has_single_use(padded)) return {};
  const auto pad = spatial_pad(rewriter, before, axes);
  if (!pad || !means_the_same(rewriter, layer, *pad)) return {};
  const std::vector<std::int64_t> pads = joint_pads(rewriter, layer, axes, *pad);
  if (pads.empty()) return {};

  Params& params = rewriter.layer(i).params;
  params.set("pads", pads);
  params.set("auto_pad", std::string("explicit"));
  if (spatial_rank(layer, "avg_pool") > 0) params.set("count_include_pad", std::int64_t{1});
  absorb_before(rewriter, i, 0, before, pad->x);
  return {};
}

}  // namespace softneuro
