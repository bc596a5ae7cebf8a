#include <algorithm>
#include <cctype>

#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// What LSTM, GRU and RNN share. hidden_size may be left out: r is [directions, gates · H, H].
LayerParams recurrent_params(Node& node) {
  LayerParams params;
  params.set("direction",
             node.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  std::int64_t hidden = node.integer("hidden_size", 0);
  if (hidden == 0) hidden = node.need_dim(node.input(2), 2);
  params.set("hidden_size", hidden);
  std::vector<std::string> activations = node.texts("activations");
  for (std::string& name : activations) name = lower(std::move(name));
  params.set("activations", std::move(activations));
  params.set("activation_alpha", node.reals("activation_alpha"));
  params.set("activation_beta", node.reals("activation_beta"));
  params.set("clip", node.real("clip", 0));
  params.set("layout", node.integer("layout", 0));
  return params;
}

void import_lstm(Node& node) {
  LayerParams params = recurrent_params(node);
  params.set("input_forget", node.integer("input_forget", 0));
  node.finish("lstm", node.inputs(), params);
}

void import_gru(Node& node) {
  LayerParams params = recurrent_params(node);
  params.set("linear_before_reset", node.integer("linear_before_reset", 0));
  node.finish("gru", node.inputs(), params);
}

void import_rnn(Node& node) {
  node.finish("rnn", node.inputs(), recurrent_params(node));
}

constexpr Operator kOperators[] = {
    {"GRU", 3, 3, 6, import_gru},
    {"LSTM", 1, 3, 8, import_lstm},
    {"RNN", 1, 3, 6, import_rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
