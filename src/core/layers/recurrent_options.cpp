#include "core/layers/recurrent_options.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace softneuro {
namespace {

struct NamedActivation {
  const char* name = nullptr;
  RecurrentActivation activation;  // with the defaults of the operators' documentation
  int arguments = 0;               // 0: none, 1: alpha, 2: alpha and beta
};

constexpr NamedActivation kActivations[] = {
    {"relu", {UnaryOp::relu, false, 0, 0}, 0},
    {"tanh", {UnaryOp::tanh, false, 0, 0}, 0},
    {"sigmoid", {UnaryOp::sigmoid, false, 0, 0}, 0},
    {"softsign", {UnaryOp::softsign, false, 0, 0}, 0},
    {"softplus", {UnaryOp::softplus, false, 0, 0}, 0},
    {"elu", {UnaryOp::elu, false, 1, 0}, 1},
    {"leakyrelu", {UnaryOp::leaky_relu, false, 0.01, 0}, 1},
    {"thresholdedrelu", {UnaryOp::thresholded_relu, false, 1, 0}, 1},
    {"affine", {UnaryOp::linear, false, 1, 0}, 2},
    {"hardsigmoid", {UnaryOp::hard_sigmoid, false, 0.2, 0.5}, 2},
    {"scaledtanh", {UnaryOp::tanh, true, 1, 1}, 2},
};

const char* default_activation(RecurrentCell cell, int index) {
  return cell == RecurrentCell::rnn || index > 0 ? "tanh" : "sigmoid";
}

// The lists activation_alpha and activation_beta hold values for those functions only that take
// them, in order.
Status read_activations(const Params& params, RecurrentOptions& options) {
  const auto names = params.texts("activations");
  const auto alphas = params.reals("activation_alpha");
  const auto betas = params.reals("activation_beta");
  const int per_direction = activations_of(options.cell);
  const int count = per_direction * options.directions;
  if (!names.empty() && names.size() != static_cast<std::size_t>(count))
    return invalid_model("parameter activations has {} entries, expected {}", names.size(), count);
  std::size_t next_alpha = 0, next_beta = 0;
  for (int i = 0; i < count; ++i) {
    const std::string_view name =
        names.empty() ? std::string_view(default_activation(options.cell, i % per_direction))
                      : std::string_view(names[static_cast<std::size_t>(i)]);
    const auto* const found =
        std::find_if(std::begin(kActivations), std::end(kActivations),
                     [&](const NamedActivation& entry) { return name == entry.name; });
    if (found == std::end(kActivations))
      return invalid_model("parameter activations[{}] is '{}', which is not a known function", i,
                           name);
    RecurrentActivation activation = found->activation;
    if (found->arguments >= 1 && next_alpha < alphas.size())
      activation.alpha = alphas[next_alpha++];
    if (found->arguments >= 2 && next_beta < betas.size()) activation.beta = betas[next_beta++];
    options.activations[static_cast<std::size_t>(i / per_direction)]
                       [static_cast<std::size_t>(i % per_direction)] = activation;
  }
  return {};
}

}  // namespace

double RecurrentActivation::operator()(double x) const noexcept {
  return scaled_tanh ? alpha * std::tanh(beta * x) : apply(op, x, alpha, beta);
}

Result<RecurrentOptions> recurrent_options(RecurrentCell cell, const Params& params) {
  RecurrentOptions options;
  options.cell = cell;
  const std::string_view direction = params.text("direction");
  if (direction == "bidirectional")
    options.directions = 2;
  else if (direction == "reverse")
    options.first_reversed = true;
  else if (direction != "forward")
    return invalid_model("parameter direction is '{}', expected forward, reverse or bidirectional",
                         direction);
  const std::int64_t layout = params.integer("layout");
  if (layout != 0 && layout != 1)
    return invalid_model("parameter layout is {}, expected 0 or 1", layout);
  options.batch_first = layout == 1;
  options.clip = params.real("clip");
  if (!(options.clip >= 0))
    return invalid_model("parameter clip is {}, expected a number >= 0", options.clip);
  options.input_forget = params.integer("input_forget") != 0;
  options.linear_before_reset = params.integer("linear_before_reset") != 0;
  SN_RETURN_IF_ERROR(read_activations(params, options));
  return options;
}

RecurrentSizes recurrent_sizes(const RecurrentOptions& options, const Shape& x,
                               const Shape& r) noexcept {
  return {x[options.batch_first ? 1 : 0], x[options.batch_first ? 0 : 1], x[2], r[2]};
}

}  // namespace softneuro
