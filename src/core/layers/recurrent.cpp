// lstm, gru, rnn.
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/recurrent_options.h"

namespace softneuro {
namespace {

// Dimension `axis` of input `i` must be `expected`; what one of them does not know, the other
// gives.
Status match(const InferContext& context, std::size_t i, int axis, Dim& expected,
             const char* meaning) {
  if (!context.has_input(i) || !context.shape(i).ranked()) return {};
  const Dim dim = context.shape(i)[axis];
  if (dim.known() && expected.known() && dim.value != expected.value)
    return invalid_model("dimension {} of input {} is {}, expected {} ({})", axis, i, dim.value,
                         expected.value, meaning);
  if (!expected.known()) expected = dim;
  return {};
}

Status check_ranks_and_types(const InferContext& context) {
  constexpr int kRanks[] = {3, 3, 3, 2, 1, 3, 3, 2};
  constexpr DataType kLength[] = {DataType::int32};
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) {
      if (i <= kRecurrentR) return invalid_model("input {} is left out", i);
      continue;
    }
    SN_RETURN_IF_ERROR(context.expect_rank(i, kRanks[i]));
    if (i == kRecurrentLengths)
      SN_RETURN_IF_ERROR(context.expect_type(i, kLength));
    else
      SN_RETURN_IF_ERROR(i == 0 ? context.expect_type(0, kFloatTypes)
                                : context.expect_same_type(i, 0));
  }
  return {};
}

Status infer_cell(RecurrentCell cell, InferContext& context) {
  SN_RETURN_IF_ERROR(check_ranks_and_types(context));
  SN_ASSIGN_OR_RETURN(const RecurrentOptions options, recurrent_options(cell, context.params()));
  constexpr std::int64_t kLargestHidden = INT32_MAX;
  Dim hidden;
  const std::int64_t given = context.params().integer("hidden_size");
  if (given != 0) hidden = Dim(given);
  SN_RETURN_IF_ERROR(match(context, kRecurrentR, 2, hidden, "hidden_size"));
  if (given < 0 || hidden.value == 0 || hidden.value > kLargestHidden)
    return invalid_model("hidden_size is {}, expected 1 to {}", given < 0 ? given : hidden.value,
                         kLargestHidden);

  const int time_axis = options.batch_first ? 1 : 0, batch_axis = options.batch_first ? 0 : 1;
  const auto times_hidden = [&](std::int64_t n) {
    return hidden.known() ? Dim(n * hidden.value) : Dim();
  };
  Dim directions(options.directions), batch, steps, input;
  Dim gates = times_hidden(gates_of(cell)), biases = times_hidden(2 * gates_of(cell)),
      peepholes = times_hidden(3);
  SN_RETURN_IF_ERROR(match(context, kRecurrentX, time_axis, steps, "steps"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentX, batch_axis, batch, "batch"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentX, 2, input, "input size"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentW, 2, input, "input size"));
  for (const std::size_t i : {kRecurrentW, kRecurrentR, kRecurrentBias, kRecurrentPeepholes})
    SN_RETURN_IF_ERROR(match(context, i, 0, directions, "directions"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentW, 1, gates, "gates times hidden_size"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentR, 1, gates, "gates times hidden_size"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentBias, 1, biases, "twice gates times hidden_size"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentPeepholes, 1, peepholes, "3 times hidden_size"));
  SN_RETURN_IF_ERROR(match(context, kRecurrentLengths, 0, batch, "batch"));
  for (const std::size_t i : {kRecurrentH0, kRecurrentC0}) {
    SN_RETURN_IF_ERROR(match(context, i, options.batch_first ? 1 : 0, directions, "directions"));
    SN_RETURN_IF_ERROR(match(context, i, options.batch_first ? 0 : 1, batch, "batch"));
    SN_RETURN_IF_ERROR(match(context, i, 2, hidden, "hidden_size"));
  }

  const DynamicShape state = options.batch_first ? DynamicShape{batch, directions, hidden}
                                                 : DynamicShape{directions, batch, hidden};
  context.set_output(0, context.type(0),
                     options.batch_first ? DynamicShape{batch, steps, directions, hidden}
                                         : DynamicShape{steps, directions, batch, hidden});
  context.set_output(1, context.type(0), state);
  if (cell == RecurrentCell::lstm) context.set_output(2, context.type(0), state);
  return {};
}

template <RecurrentCell Cell>
Status infer(InferContext& context) {
  return infer_cell(Cell, context);
}

// The two matrix products of every gate and step.
double macs(const LayerSizes& sizes) {
  const Shape& x = *sizes.inputs[kRecurrentX];
  return static_cast<double>(x[0] * x[1]) * (LayerSizes::elements(sizes.inputs[kRecurrentW]) +
                                             LayerSizes::elements(sizes.inputs[kRecurrentR]));
}

Status add(LayerTypes& types, RecurrentCell cell, const char* name, std::string doc,
           const char* functions, const char* defaults, ParamSpec extra) {
  const bool lstm = cell == RecurrentCell::lstm;
  const std::vector<double> none;
  LayerType type = {
      .name = name,
      .doc = std::move(doc) +
             " Inputs: x[T,B,I], w[D,G·H,I], r[D,G·H,H], bias[D,2·G·H] (of w, then of r), "
             "sequence_lens[B] (int32), h0[D,B,H]" +
             (lstm ? ", c0[D,B,H], peepholes[D,3·H] (i, o, f)" : "") +
             "; all but the first three optional. Outputs: Y[T,D,B,H] (zero after a sequence's "
             "end), Y_h[D,B,H]" +
             (lstm ? ", Y_c[D,B,H]" : "") + ". layout=1: [B,T,I], [B,D,H], [B,T,D,H].",
      .category = LayerCategory::recurrent,
      .params = {{"direction", "forward", "forward, reverse, bidirectional"},
                 {"hidden_size", 0, "H; 0: that of the weights"},
                 {"activations", std::vector<std::string>(),
                  std::string(functions) +
                      " for each direction, lower-case ONNX names; empty: " + defaults},
                 {"activation_alpha", none, "alpha of the functions that take one"},
                 {"activation_beta", none, "beta of the functions that take one"},
                 {"clip", 0.0, "bound of what goes into the functions; 0: none"},
                 {"layout", 0, "1: the batch comes first"}},
      .inputs = {3, lstm ? 8 : 6},
      .outputs = {1, lstm ? 3 : 2},
      .cancellable = true,
      .infer = lstm                         ? infer<RecurrentCell::lstm>
               : cell == RecurrentCell::gru ? infer<RecurrentCell::gru>
                                            : infer<RecurrentCell::rnn>,
      .macs = macs};
  if (!extra.name.empty()) type.params.push_back(std::move(extra));
  return types.add(std::move(type));
}

}  // namespace

Status register_layer_recurrent(LayerTypes& types) {
  SN_RETURN_IF_ERROR(add(types, RecurrentCell::rnn, "rnn",
                         "h = f(x·wᵀ + h₋₁·rᵀ + biases), step by step.", "f", "tanh", {}));
  SN_RETURN_IF_ERROR(
      add(types, RecurrentCell::gru, "gru",
          "Gated recurrent unit, gates z r n: z, r = σ(x·wᵀ + h₋₁·rᵀ + biases), n = g(x·wᵀ + (r ⊙ "
          "h₋₁)·rᵀ + biases), h = (1 − z) ⊙ n + z ⊙ h₋₁.",
          "σ and g", "sigmoid, tanh",
          {"linear_before_reset", 0,
           "1: r is multiplied after the product with the recurrent weights and their bias"}));
  return add(types, RecurrentCell::lstm, "lstm",
             "Long short-term memory, gates i o f c: i, f = σ(x·wᵀ + h₋₁·rᵀ + p ⊙ c₋₁ + biases), c "
             "= f ⊙ c₋₁ + i ⊙ g(…), o = σ(… + p ⊙ c), h = o ⊙ φ(c).",
             "σ, g and φ", "sigmoid, tanh, tanh", {"input_forget", 0, "1: f = 1 − i"});
}

}  // namespace softneuro
