// lstm cpu/naive: the specification, in double. Gates i o f c:
//   i = σ(x·wiᵀ + h₋₁·riᵀ + pi ⊙ c₋₁ + biases), f likewise (input_forget: f = 1 − i)
//   c = f ⊙ c₋₁ + i ⊙ g(x·wcᵀ + h₋₁·rcᵀ + biases), o = σ(… + po ⊙ c), h = o ⊙ φ(c)
#include "routines/naive_routine.h"
#include "routines/rnn/naive_recurrent.h"

namespace softneuro {
namespace {

class NaiveLstmKernel final : public NaiveRecurrentKernel {
 public:
  using NaiveRecurrentKernel::NaiveRecurrentKernel;

 private:
  enum Gate : std::int64_t { kI, kO, kF, kC };
  enum Peephole : std::int64_t { kPi, kPo, kPf };

  double peephole(const RecurrentStep& at, Peephole which, std::int64_t i) const noexcept {
    if (!at.context.has_input(kRecurrentPeepholes)) return 0;
    return load(at.context.input(kRecurrentPeepholes),
                (at.direction * 3 + which) * sizes_.hidden + i);
  }

  void step(const RecurrentStep& at) const noexcept override {
    const std::int64_t hidden = sizes_.hidden;
    for (std::int64_t row = 0; row < 4 * hidden; ++row)
      at.gates[row] =
          input_product(at, row) + state_product(at, row, at.h) + w_bias(at, row) + r_bias(at, row);
    for (std::int64_t k = 0; k < hidden; ++k) {
      const double before = at.c[k];
      const double i = activate(at, 0, at.gates[kI * hidden + k] + peephole(at, kPi, k) * before);
      const double f =
          options_.input_forget
              ? 1 - i
              : activate(at, 0, at.gates[kF * hidden + k] + peephole(at, kPf, k) * before);
      const double c = f * before + i * activate(at, 1, at.gates[kC * hidden + k]);
      const double o = activate(at, 0, at.gates[kO * hidden + k] + peephole(at, kPo, k) * c);
      at.c[k] = c;
      at.h[k] = o * options_.activations[static_cast<std::size_t>(at.direction)][2](c);
    }
  }
};

}  // namespace

Status register_routine_lstm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lstm"}, make_naive_recurrent<NaiveLstmKernel, RecurrentCell::lstm>);
}

}  // namespace softneuro
