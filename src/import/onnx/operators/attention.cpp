// Attention and what stands around it in language models, put together from simple layers.
#include <cmath>

#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// One dimension of a tensor, as a list of one or as a scalar at run time.
TensorId dim_list(Node& node, TensorId x, std::int64_t axis) {
  return node.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}
TensorId dim_scalar(Node& node, TensorId x, std::int64_t axis) {
  return node.emit("squeeze", {dim_list(node, x, axis)});
}

// 0, 1, … count − 1
TensorId indices_below(Node& node, TensorId count) {
  return node.emit("range", {integer_constant(node, 0), count, integer_constant(node, 1)});
}

// [batch, length, heads · size] → [batch, heads, length, size]; four dimensions stay.
TensorId split_heads(Node& node, TensorId x, std::int64_t heads) {
  if (node.need_rank(x) == 4 || node.failed()) return x;
  if (heads < 1) node.reject("inputs of three dimensions need the number of heads");
  const TensorId apart = node.emit("reshape", {x, integers_constant(node, {0, 0, heads, -1})});
  return node.emit("transpose", {apart}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
}

// Each of the heads of x[batch, heads, length, size] `times` times in a row.
TensorId repeat_heads(Node& node, TensorId x, std::int64_t heads, std::int64_t times) {
  if (times == 1) return x;
  const TensorId copies =
      node.emit("expand", {unsqueeze(node, x, {2}), integers_constant(node, {1, 1, times, 1, 1})});
  const TensorId behind = node.emit("shape", {x}, {{"start", 2}});
  const TensorId shape =
      node.emit("concat", {dim_list(node, x, 0), integers_constant(node, {heads * times}), behind},
                {{"axis", 0}});
  return node.emit("reshape", {copies, shape});
}

// What is added to the scores of queries (rows) and keys (columns): 0, or −∞ where a key is not to
// be seen.
class Bias {
 public:
  Bias(Node& node, TensorId queries, TensorId keys)
      : node_(node), queries_(queries), keys_(keys), type_(node.type(queries)) {}

  TensorId sum() const { return sum_; }
  // Some row may see no key at all, so that its softmax has nothing to divide by.
  bool may_hide_all() const { return may_hide_all_; }

  void add_mask(TensorId mask, bool may_be_short) {
    may_hide_all_ = true;
    if (node_.type(mask) == DataType::boolean) mask = where_allowed(mask);
    if (may_be_short) mask = lengthened(mask);
    add(mask);
  }

  // Query i stands at `offset` + i and sees keys up to itself.
  void add_causal(TensorId offset) {
    add(where_allowed(binary(node_, "less_equal", distance(), offset)));
  }

  // Keys that are at most so far to the left and right of the query; −1: any.
  void add_window(TensorId offset, std::int64_t left, std::int64_t right) {
    may_hide_all_ = true;
    const TensorId apart = binary(node_, "sub", distance(), offset);
    if (left >= 0)
      add(where_allowed(binary(node_, "greater_equal", apart, integer_constant(node_, -left))));
    if (right >= 0)
      add(where_allowed(binary(node_, "less_equal", apart, integer_constant(node_, right))));
  }

  // Keys from `lengths`[batch] on are padding.
  void add_lengths(TensorId lengths) {
    may_hide_all_ = true;
    const TensorId limits = unsqueeze(node_, lengths, {1, 2, 3});
    add(where_allowed(binary(node_, "less", columns(), limits)));
  }

 private:
  TensorId columns() { return indices_below(node_, dim_scalar(node_, keys_, 2)); }

  // Key's index minus query's index.
  TensorId distance() {
    if (distance_ == kNoTensor) {
      const TensorId rows =
          unsqueeze(node_, indices_below(node_, dim_scalar(node_, queries_, 2)), {1});
      distance_ = binary(node_, "sub", columns(), rows);
    }
    return distance_;
  }

  TensorId where_allowed(TensorId allowed) {
    return node_.emit("where", {allowed, number_constant(node_, 0, type_),
                                number_constant(node_, -INFINITY, type_)});
  }

  // The mask with −∞ for keys behind its end.
  TensorId lengthened(TensorId mask) {
    const int rank = node_.need_rank(mask);
    const std::int64_t length = node_.dim(mask, rank - 1);
    if (rank < 1 || (length >= 0 && length == node_.dim(keys_, 2))) return mask;
    const TensorId missing =
        binary(node_, "sub", dim_list(node_, keys_, 2), dim_list(node_, mask, rank - 1));
    const std::vector<std::int64_t> before(static_cast<std::size_t>(2 * rank - 1), 0);
    const TensorId pads =
        node_.emit("concat", {integers_constant(node_, before), missing}, {{"axis", 0}});
    return node_.emit("pad", {mask, pads, number_constant(node_, -INFINITY, type_)});
  }

  void add(TensorId term) { sum_ = sum_ == kNoTensor ? term : binary(node_, "add", sum_, term); }

  Node& node_;
  TensorId queries_, keys_;  // [batch, heads, length, size]
  DataType type_;
  TensorId sum_ = kNoTensor;
  TensorId distance_ = kNoTensor;
  bool may_hide_all_ = false;
};

Bias make_bias(Node& node, TensorId queries, TensorId keys) {
  Bias bias(node, queries, keys);
  const TensorId lengths = node.input(6);
  if (node.has_input(3)) bias.add_mask(node.input(3), node.opset() >= 24);
  const bool causal = node.integer("is_causal", 0) != 0;
  const std::int64_t left = node.integer("left_window_size", -1);
  const std::int64_t right = node.integer("right_window_size", -1);
  if (causal || left >= 0 || right >= 0) {
    TensorId offset = integer_constant(node, 0);
    if (node.has_input(4))
      offset = dim_scalar(node, node.input(4), 2);
    else if (lengths != kNoTensor)
      offset =
          unsqueeze(node, binary(node, "sub", lengths, dim_scalar(node, queries, 2)), {1, 2, 3});
    if (causal) bias.add_causal(offset);
    if (left >= 0 || right >= 0) bias.add_window(offset, left, right);
  }
  if (lengths != kNoTensor) bias.add_lengths(lengths);
  return bias;
}

// Softmax over the keys; rows that see none become zero.
TensorId probabilities(Node& node, TensorId scores, bool may_hide_all) {
  const DataType type = node.type(scores);
  DataType inner = type;
  if (node.integer("softmax_precision", 0) != 0) inner = node.data_type("softmax_precision", 0);
  const TensorId wide = cast(node, scores, inner);
  TensorId result = node.emit("softmax", {wide}, {{"axis", -1}});
  if (may_hide_all) {
    const TensorId largest = node.emit("reduce", {wide, integers_constant(node, {-1})},
                                       {{"op", "max"}, {"keepdims", 1}});
    const TensorId hidden = unary(node, "is_inf", largest, 1, 0);
    result = node.emit("where", {hidden, number_constant(node, 0, inner), result});
  }
  return cast(node, result, type);
}

void import_attention(Node& node) {
  const std::int64_t q_heads = node.integer("q_num_heads", 0);
  const std::int64_t kv_heads = node.integer("kv_num_heads", 0);
  const bool flat = node.need_rank(node.input(0)) == 3;
  TensorId queries = split_heads(node, node.input(0), q_heads);
  TensorId keys = split_heads(node, node.input(1), kv_heads);
  TensorId values = split_heads(node, node.input(2), kv_heads);
  if (node.has_input(4)) keys = node.emit("concat", {node.input(4), keys}, {{"axis", 2}});
  if (node.has_input(5)) values = node.emit("concat", {node.input(5), values}, {{"axis", 2}});
  node.define(1, keys);
  node.define(2, values);
  const Bias bias = make_bias(node, queries, keys);

  const std::int64_t heads = node.need_dim(queries, 1);
  const std::int64_t groups = node.need_dim(keys, 1);
  double scale = node.real("scale", 0);
  if (!node.has("scale")) scale = 1 / std::sqrt(static_cast<double>(node.need_dim(queries, 3)));
  if (node.failed()) return;
  if (groups < 1 || heads % groups != 0)
    return node.reject("{} query heads are not a multiple of {} key heads", heads, groups);
  keys = repeat_heads(node, keys, groups, heads / groups);
  values = repeat_heads(node, values, groups, heads / groups);

  // Both factors are scaled by the root, so that products of small types stay in range.
  TensorId scores = node.emit("matmul",
                              {unary(node, "linear", queries, std::sqrt(scale)),
                               unary(node, "linear", keys, std::sqrt(scale))},
                              {{"transpose_b", 1}});
  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode == 0) node.define(3, scores);
  if (const double cap = node.real("softcap", 0); cap > 0)
    scores =
        unary(node, "linear", unary(node, "tanh", unary(node, "linear", scores, 1 / cap)), cap);
  if (mode == 1) node.define(3, scores);
  if (bias.sum() != kNoTensor) scores = binary(node, "add", scores, bias.sum());
  if (mode == 2) node.define(3, scores);
  const TensorId weights = probabilities(node, scores, bias.may_hide_all());
  if (mode == 3) node.define(3, weights);
  if (!flat) return node.finish_output(0, "matmul", {weights, values});
  const TensorId y = node.emit("transpose", {node.emit("matmul", {weights, values})},
                               {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  node.finish_output(0, "reshape", {y, integers_constant(node, {0, 0, -1})});
}

// Pairs of elements, turned by an angle that depends on the position.
void import_rotary_embedding(Node& node) {
  const std::vector<std::int64_t> swap{0, 2, 1, 3};
  const TensorId input = node.input(0);
  const bool flat = node.need_rank(input) == 3;
  const std::int64_t heads = node.integer("num_heads", 0);
  if (flat && heads < 1) return node.reject("an input of three dimensions needs num_heads");
  // [batch, length, heads, size]
  const TensorId x = flat
                         ? node.emit("reshape", {input, integers_constant(node, {0, 0, heads, -1})})
                         : node.emit("transpose", {input}, {{"perm", swap}});
  const std::int64_t size = node.need_dim(x, 3);
  std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (node.failed()) return;
  if (turned < 2 || turned > size || turned % 2 != 0)
    return node.reject("rotary_embedding_dim is {}, expected an even number from 2 to {}", turned,
                       size);
  const auto part = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return node.emit("slice", {x, integers_constant(node, {begin}), integers_constant(node, {end}),
                               integers_constant(node, {3}), integers_constant(node, {step})});
  };
  const auto cached = [&](TensorId cache) {
    if (node.has_input(3)) cache = node.emit("gather", {cache, node.input(3)}, {{"axis", 0}});
    return unsqueeze(node, cache, {2});
  };
  const TensorId cosine = cached(node.input(1)), sine = cached(node.input(2));
  const bool interleaved = node.integer("interleaved", 0) != 0;
  const TensorId a = interleaved ? part(0, turned, 2) : part(0, turned / 2, 1);
  const TensorId b = interleaved ? part(1, turned, 2) : part(turned / 2, turned, 1);
  TensorId real = binary(node, "sub", binary(node, "mul", cosine, a), binary(node, "mul", sine, b));
  TensorId imaginary =
      binary(node, "add", binary(node, "mul", sine, a), binary(node, "mul", cosine, b));
  if (interleaved) {
    real = unsqueeze(node, real, {4});
    imaginary = unsqueeze(node, imaginary, {4});
  }
  TensorId y = node.emit("concat", {real, imaginary}, {{"axis", -1}});
  if (interleaved) y = node.emit("reshape", {y, integers_constant(node, {0, 0, 0, turned})});
  if (turned < size) y = node.emit("concat", {y, part(turned, size, 1)}, {{"axis", 3}});
  if (flat) return node.finish("reshape", {y, integers_constant(node, {0, 0, -1})});
  node.finish("transpose", {y}, {{"perm", swap}});
}

// A depthwise convolution over the past and the present; the last inputs are handed on.
void import_causal_conv(Node& node) {
  const TensorId x = node.input(0);
  const std::int64_t channels = node.need_dim(node.input(1), 0);
  const std::int64_t memory = node.need_dim(node.input(1), 2) - 1;
  if (node.failed()) return;
  const TensorId before = node.input(3);
  const TensorId whole =
      before != kNoTensor ? node.emit("concat", {before, x}, {{"axis", 2}})
                          : node.emit("pad", {x, integers_constant(node, {0, 0, memory, 0, 0, 0})});
  const LayerParams params{{"group", channels}};
  const std::vector<TensorId> inputs{whole, node.input(1), node.input(2)};
  if (node.choice("activation", "none", {"none", "silu", "swish"}) == "none")
    node.finish_output(0, "conv1", inputs, params);
  else
    node.finish_output(0, "unary", {node.emit("conv1", inputs, params)},
                       {{"op", "silu"}, {"alpha", 1.0}});
  // Without memory nothing is handed on: an empty slice.
  const std::int64_t begin = memory > 0 ? -memory : INT64_MAX;
  node.finish_output(1, "slice",
                     {whole, integers_constant(node, {begin}), integers_constant(node, {INT64_MAX}),
                      integers_constant(node, {2})});
}

// Writes `update` into a cache, from a place on that each sample of the batch has for itself.
void import_tensor_scatter(Node& node) {
  const TensorId cache = node.input(0), update = node.input(1);
  const int rank = node.need_rank(cache);
  std::int64_t axis = node.integer("axis", -2);
  if (axis < 0) axis += rank;
  if (node.failed()) return;
  if (axis < 1 || axis >= rank)
    return node.reject("axis is {}, expected one of the cache's {} dimensions, but the first",
                       node.integer("axis", -2), rank);
  const bool circular = node.choice("mode", "linear", {"linear", "circular"}) == "circular";
  TensorId places = indices_below(node, dim_scalar(node, update, axis));
  places = unsqueeze(node, places, axes_between(1, rank - axis));
  if (node.has_input(2))
    places = binary(node, "add", places, unsqueeze(node, node.input(2), axes_between(1, rank)));
  if (circular) places = binary(node, "mod", places, dim_scalar(node, cache, axis));
  places = node.emit("expand", {places, node.emit("shape", {update})});
  node.finish("scatter_elements", {cache, places, update}, {{"axis", axis}});
}

constexpr Operator kOperators[] = {
    {"Attention", 23, 3, 7, import_attention},
    {"CausalConvWithState", 27, 2, 4, import_causal_conv},
    {"RotaryEmbedding", 23, 3, 4, import_rotary_embedding},
    {"TensorScatter", 24, 2, 3, import_tensor_scatter},
};

}  // namespace

std::span<const Operator> attention_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
