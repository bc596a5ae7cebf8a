#include "routines/rnn/naive_recurrent.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro {

Status check_sequence_lengths(const TensorView& lengths, std::int64_t steps) noexcept {
  const std::int64_t count = lengths.elements();
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t length = load_integer(lengths, b);
    if (length < 0 || length > steps)
      return invalid_argument("sequence_lens[{}] is {}, expected 0 to {}", b, length, steps);
  }
  return {};
}

std::size_t NaiveRecurrentKernel::workspace_bytes() const noexcept {
  return static_cast<std::size_t>((2 + gates_of(options_.cell)) * sizes_.hidden) * sizeof(double);
}

Status NaiveRecurrentKernel::run(Context& context) const noexcept {
  const bool has_lengths = context.has_input(kRecurrentLengths);
  if (has_lengths)
    SN_RETURN_IF_ERROR(check_sequence_lengths(context.input(kRecurrentLengths), sizes_.steps));
  for (int direction = 0; direction < options_.directions; ++direction)
    for (std::int64_t b = 0; b < sizes_.batch; ++b)
      run_sequence(context, direction, b,
                   has_lengths ? load_integer(context.input(kRecurrentLengths), b) : sizes_.steps);
  return {};
}

void NaiveRecurrentKernel::run_sequence(Context& context, int direction, std::int64_t b,
                                        std::int64_t length) const noexcept {
  const std::int64_t steps = sizes_.steps, batch = sizes_.batch, input = sizes_.input,
                     hidden = sizes_.hidden;
  double* const h = reinterpret_cast<double*>(context.workspace());
  double* const c = h + hidden;
  double* const gates = c + hidden;
  const bool batch_first = options_.batch_first;
  const std::int64_t directions = options_.directions;
  // Where this sequence's state begins in h0, c0, Y_h and Y_c, and a step's in x and Y.
  const std::int64_t state =
      (batch_first ? b * directions + direction : direction * batch + b) * hidden;
  const auto x_at = [&](std::int64_t t) {
    return (batch_first ? b * steps + t : t * batch + b) * input;
  };
  const auto y_at = [&](std::int64_t t) {
    return (batch_first ? (b * steps + t) * directions + direction
                        : (t * directions + direction) * batch + b) *
           hidden;
  };
  for (std::int64_t i = 0; i < hidden; ++i) {
    h[i] = context.has_input(kRecurrentH0) ? load(context.input(kRecurrentH0), state + i) : 0;
    c[i] = context.has_input(kRecurrentC0) ? load(context.input(kRecurrentC0), state + i) : 0;
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    // Beyond the sequence's end there are zeros; a reversed one begins with its last element.
    const std::int64_t t = s < length && options_.reversed(direction) ? length - 1 - s : s;
    if (s < length) step({context, direction, x_at(t), gates, h, c});
    if (context.has_output(0))
      for (std::int64_t i = 0; i < hidden; ++i)
        store(context.output(0), y_at(t) + i, s < length ? h[i] : 0);
  }
  for (std::int64_t i = 0; i < hidden; ++i) {
    if (context.has_output(1)) store(context.output(1), state + i, h[i]);
    if (context.has_output(2)) store(context.output(2), state + i, c[i]);
  }
}

double NaiveRecurrentKernel::input_product(const RecurrentStep& at,
                                           std::int64_t row) const noexcept {
  const std::int64_t rows = gates_of(options_.cell) * sizes_.hidden;
  double sum = 0;
  for (std::int64_t k = 0; k < sizes_.input; ++k)
    sum += load(at.context.input(kRecurrentX), at.x + k) *
           load(at.context.input(kRecurrentW), (at.direction * rows + row) * sizes_.input + k);
  return sum;
}

double NaiveRecurrentKernel::state_product(const RecurrentStep& at, std::int64_t row,
                                           const double* h) const noexcept {
  const std::int64_t rows = gates_of(options_.cell) * sizes_.hidden;
  double sum = 0;
  for (std::int64_t k = 0; k < sizes_.hidden; ++k)
    sum +=
        h[k] * load(at.context.input(kRecurrentR), (at.direction * rows + row) * sizes_.hidden + k);
  return sum;
}

double NaiveRecurrentKernel::w_bias(const RecurrentStep& at, std::int64_t row) const noexcept {
  if (!at.context.has_input(kRecurrentBias)) return 0;
  const std::int64_t rows = gates_of(options_.cell) * sizes_.hidden;
  return load(at.context.input(kRecurrentBias), at.direction * 2 * rows + row);
}

double NaiveRecurrentKernel::r_bias(const RecurrentStep& at, std::int64_t row) const noexcept {
  return w_bias(at, gates_of(options_.cell) * sizes_.hidden + row);
}

double NaiveRecurrentKernel::activate(const RecurrentStep& at, int which,
                                      double value) const noexcept {
  if (options_.clip > 0) value = std::clamp(value, -options_.clip, options_.clip);
  return options_
      .activations[static_cast<std::size_t>(at.direction)][static_cast<std::size_t>(which)](value);
}

}  // namespace softneuro
