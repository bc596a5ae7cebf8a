// fuse_post_ops: element-wise layers go into the layer before them as post-ops.
//
//   unary functions           behind convolutions, products, pools, norms and element-wise layers
//   binary functions with     behind convolutions and products: the other operand is a tensor of
//                             exactly the same shape (a residual connection) or a constant that
//                             broadcasts to it (slopes of a prelu)
//
// Which of them a layer takes says its type (LayerType::fused_post_ops). The result is changed
// while it is in the cache, instead of being written and read again. Exact, but that 16-bit numbers
// in between are not rounded, and numbers are float32: not in float64 unless they fit. Works
// backwards, so that of two branches that meet in an addition the later one takes it in.
#include <algorithm>

#include "passes/pattern.h"

namespace softneuro {
namespace {

bool is_fusable(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::max:
    case BinaryOp::min:
    case BinaryOp::prelu:
      return true;
    default:
      return false;
  }
}

bool is_commutative(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::mul || op == BinaryOp::max || op == BinaryOp::min;
}

// Post-ops hold their numbers as float.
bool fits_in_float(double value, DataType type) {
  return type != DataType::float64 || static_cast<double>(static_cast<float>(value)) == value;
}

// The layer's own function as a post-op on the tensor y of a layer that takes `taken`. The layer's
// post-ops may follow it.
std::optional<PostOp> as_post_op(const Rewriter& rewriter, const Layer& layer, TensorId y,
                                 FusedPostOps taken) {
  const TensorDef& def = rewriter.tensor(y);
  PostOp op;
  if (layer.type->name == "unary") {
    const double alpha = layer.params.real("alpha"), beta = layer.params.real("beta");
    if (!parse(layer.params.text("op"), op.unary) || result_type(op.unary, def.type) != def.type ||
        !fits_in_float(alpha, def.type) || !fits_in_float(beta, def.type))
      return std::nullopt;
    op.alpha = static_cast<float>(alpha);
    op.beta = static_cast<float>(beta);
    return op;
  }
  if (layer.type->name != "binary" || taken != FusedPostOps::all) return std::nullopt;
  op.kind = PostOp::Kind::binary;
  if (!parse(layer.params.text("op"), op.binary) || !is_fusable(op.binary)) return std::nullopt;
  op.swapped = layer.inputs[1] == y;
  const TensorDef& operand = rewriter.tensor(layer.inputs[op.swapped ? 0 : 1]);
  const bool fits = operand.is_constant() ? broadcasts_to(operand.shape, def.shape)
                                          : same_shape(operand.shape, def.shape);
  if (!fits || operand.type != def.type || (op.swapped && op.binary == BinaryOp::prelu))
    return std::nullopt;
  return op;
}

// Which layers go into which, decided before anything is changed: a layer that is absorbed takes
// along what it has absorbed, so that along a chain post-ops would be copied again and again.
class Fusions {
 public:
  explicit Fusions(const Rewriter& rewriter)
      : rewriter_(rewriter), chains_(static_cast<std::size_t>(rewriter.count())) {
    for (int i = 0; i < rewriter.count(); ++i) chains_[static_cast<std::size_t>(i)].last = i;
  }

  // Lets the layer take in what follows it, as far as it can. The layers behind it have had their
  // turn; what they take in comes along.
  void extend(int i) {
    while (const std::optional<int> next = fusable_next(i)) {
      Chain& chain = at(i);
      at(chain.last).next = *next;
      at(*next).absorbed = true;
      chain.last = at(*next).last;
    }
  }

  bool absorbed(int i) const { return at(i).absorbed; }
  int next(int i) const { return at(i).next; }

 private:
  struct Chain {
    int next = -1;          // the layer that comes behind this one in a chain
    int last = 0;           // the end of the chain that begins here
    bool absorbed = false;  // this one does not begin a chain
  };

  Chain& at(int i) { return chains_[static_cast<std::size_t>(i)]; }
  const Chain& at(int i) const { return chains_[static_cast<std::size_t>(i)]; }

  std::optional<int> fusable_next(int i) const {
    const Layer& layer = rewriter_.layer(i);
    const TensorId y = rewriter_.layer(at(i).last).outputs[0];
    if (y == kNoTensor || !rewriter_.has_single_use(y) || !is_float(rewriter_.tensor(y).type) ||
        layer.type->is_view || layer.type->data_dependent_output)
      return std::nullopt;
    const int next = rewriter_.uses().first(y)->layer;
    const Layer& consumer = rewriter_.layer(next);
    // y may be the operand of a post-op there, or of one that the layer is going to be.
    const auto end = consumer.inputs.begin() + consumer.layer_inputs;
    if (at(next).absorbed || std::find(consumer.inputs.begin(), end, y) == end ||
        !as_post_op(rewriter_, consumer, y, layer.type->fused_post_ops))
      return std::nullopt;
    return next;
  }

  const Rewriter& rewriter_;
  std::vector<Chain> chains_;
};

void fuse(Rewriter& rewriter, int i, int next) {
  const TensorId y = rewriter.layer(i).outputs[0];
  const Layer& consumer = rewriter.layer(next);
  PostOp op = *as_post_op(rewriter, consumer, y, rewriter.layer(i).type->fused_post_ops);
  if (op.kind == PostOp::Kind::binary) {
    op.input = rewriter.append_post_op_input(i, consumer.inputs[op.swapped ? 0 : 1]);
    if (is_commutative(op.binary)) op.swapped = false;
  }
  rewriter.layer(i).post_ops.push_back(op);
  absorb(rewriter, i, next);
}

}  // namespace

Status fuse_post_ops(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  Fusions fusions(rewriter);
  for (int i = rewriter.count() - 1; i >= 0; --i)
    if (rewriter.layer(i).type->fused_post_ops != FusedPostOps::none) fusions.extend(i);
  for (int i = 0; i < rewriter.count(); ++i)
    for (int next = fusions.absorbed(i) ? -1 : fusions.next(i); next >= 0;
         next = fusions.next(next))
      fuse(rewriter, i, next);
  return rewriter.finish();
}

}  // namespace softneuro
