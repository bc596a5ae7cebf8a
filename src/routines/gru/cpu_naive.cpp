// gru cpu/naive: the specification, in double. Gates z r h:
//   z = f(x·wzᵀ + h₋₁·rzᵀ + biases), r likewise, n = g(x·whᵀ + (r ⊙ h₋₁)·rhᵀ + biases)
//   (linear_before_reset: n = g(x·whᵀ + wbh + r ⊙ (h₋₁·rhᵀ + rbh))), h = (1 − z) ⊙ n + z ⊙ h₋₁
#include "routines/naive_routine.h"
#include "routines/rnn/naive_recurrent.h"

namespace softneuro {
namespace {

class NaiveGruKernel final : public NaiveRecurrentKernel {
 public:
  using NaiveRecurrentKernel::NaiveRecurrentKernel;

 private:
  void step(const RecurrentStep& at) const noexcept override {
    const std::int64_t hidden = sizes_.hidden;
    double* const z = at.gates;
    double* const r = z + hidden;
    double* const n = r + hidden;
    for (std::int64_t i = 0; i < 2 * hidden; ++i)
      z[i] = activate(
          at, 0, input_product(at, i) + state_product(at, i, at.h) + w_bias(at, i) + r_bias(at, i));
    if (options_.linear_before_reset) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        const std::int64_t row = 2 * hidden + i;
        n[i] = activate(at, 1,
                        input_product(at, row) + w_bias(at, row) +
                            r[i] * (state_product(at, row, at.h) + r_bias(at, row)));
      }
    } else {
      for (std::int64_t i = 0; i < hidden; ++i) r[i] *= at.h[i];
      for (std::int64_t i = 0; i < hidden; ++i) {
        const std::int64_t row = 2 * hidden + i;
        n[i] = activate(
            at, 1,
            input_product(at, row) + state_product(at, row, r) + w_bias(at, row) + r_bias(at, row));
      }
    }
    for (std::int64_t i = 0; i < hidden; ++i) at.h[i] = (1 - z[i]) * n[i] + z[i] * at.h[i];
  }
};

}  // namespace

Status register_routine_gru_cpu_naive(Registry& registry) {
  return add_naive(registry, {"gru"}, make_naive_recurrent<NaiveGruKernel, RecurrentCell::gru>);
}

}  // namespace softneuro
