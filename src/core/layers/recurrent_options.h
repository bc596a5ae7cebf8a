// The sizes and options that lstm, gru and rnn layers share.
#pragma once

#include <array>
#include <string_view>

#include "core/graph/elementwise.h"
#include "core/graph/params.h"
#include "softneuro/export.h"
#include "softneuro/shape.h"
#include "softneuro/status.h"

namespace softneuro {

// Inputs of the recurrent layer types; the last two are lstm's.
enum RecurrentInput : std::size_t {
  kRecurrentX,          // [T,B,I]; layout=1: [B,T,I]
  kRecurrentW,          // [D,G·H,I]
  kRecurrentR,          // [D,G·H,H]
  kRecurrentBias,       // [D,2·G·H]: of w, then of r
  kRecurrentLengths,    // [B] int32
  kRecurrentH0,         // [D,B,H]; layout=1: [B,D,H]
  kRecurrentC0,         // as h0
  kRecurrentPeepholes,  // [D,3·H], of the gates i, o, f
};

enum class RecurrentCell : std::uint8_t { rnn, gru, lstm };
// Gates per cell, in the order of the weights: rnn one, gru z r h, lstm i o f c.
constexpr int gates_of(RecurrentCell cell) noexcept {
  return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::gru ? 3 : 4;
}
// Activation functions per direction: rnn f, gru f g, lstm f g h.
constexpr int activations_of(RecurrentCell cell) noexcept {
  return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::gru ? 2 : 3;
}

// One of the functions that the operators name. scaled_tanh is alpha·tanh(beta·x), which no UnaryOp
// is; everything else is apply(op, x, alpha, beta).
struct RecurrentActivation {
  UnaryOp op = UnaryOp::tanh;
  bool scaled_tanh = false;
  double alpha = 0, beta = 0;

  SN_INTREE double operator()(double x) const noexcept;
  // The plain function, without scaling.
  bool is(UnaryOp other) const noexcept { return op == other && !scaled_tanh; }
};

struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::rnn;
  int directions = 1;
  bool first_reversed = false;                                    // direction "reverse"
  bool batch_first = false;                                       // layout=1
  double clip = 0;                                                // 0: none
  bool input_forget = false;                                      // lstm: f = 1 − i
  bool linear_before_reset = false;                               // gru
  std::array<std::array<RecurrentActivation, 3>, 2> activations;  // by direction

  bool reversed(int direction) const noexcept { return direction == 1 || first_reversed; }
};

// Checks the parameters; invalid_model names the one that is wrong.
SN_INTREE Result<RecurrentOptions> recurrent_options(RecurrentCell cell, const Params& params);

// Sizes of a concrete problem whose shapes have passed LayerType::infer.
struct RecurrentSizes {
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0;
};
SN_INTREE RecurrentSizes recurrent_sizes(const RecurrentOptions& options, const Shape& x,
                                         const Shape& r) noexcept;

}  // namespace softneuro
