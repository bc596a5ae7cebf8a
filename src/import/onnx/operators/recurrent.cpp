#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// What LSTM, GRU and RNN share. hidden_size may be left out: r is [directions, gates · H, H].
void import_recurrent(Node& node) {
  LayerParams params;
  params.set("direction",
             node.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  std::int64_t hidden = node.integer("hidden_size", 0);
  if (hidden == 0) hidden = node.need_dim(node.input(2), 2);
  params.set("hidden_size", hidden);
  std::vector<std::string> activations = node.texts("activations");
  for (std::string& name : activations) name = lower_case(std::move(name));
  params.set("activations", std::move(activations));
  params.set("activation_alpha", node.reals("activation_alpha"));
  params.set("activation_beta", node.reals("activation_beta"));
  params.set("clip", node.real("clip", 0));
  params.set("layout", node.integer("layout", 0));
  node.finish(node.detail(), node.inputs(), row_params(node, std::move(params)));
}

constexpr Operator kOperators[] = {
    {"GRU", 3, 3, 6, import_recurrent, "gru", {{"linear_before_reset", 0}}},
    {"LSTM", 1, 3, 8, import_recurrent, "lstm", {{"input_forget", 0}}},
    {"RNN", 1, 3, 6, import_recurrent, "rnn"},
};

}  // namespace

std::span<const Operator> recurrent_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
