// rnn cpu/naive: the specification. h = f(x·wᵀ + h₋₁·rᵀ + biases), in double.
#include "routines/naive_routine.h"
#include "routines/rnn/naive_recurrent.h"

namespace softneuro {
namespace {

class NaiveRnnKernel final : public NaiveRecurrentKernel {
 public:
  using NaiveRecurrentKernel::NaiveRecurrentKernel;

 private:
  void step(const RecurrentStep& at) const noexcept override {
    for (std::int64_t i = 0; i < sizes_.hidden; ++i)
      at.gates[i] = activate(
          at, 0, input_product(at, i) + state_product(at, i, at.h) + w_bias(at, i) + r_bias(at, i));
    for (std::int64_t i = 0; i < sizes_.hidden; ++i) at.h[i] = at.gates[i];
  }
};

}  // namespace

Status register_routine_rnn_cpu_naive(Registry& registry) {
  return add_naive(registry, {"rnn"}, make_naive_recurrent<NaiveRnnKernel, RecurrentCell::rnn>);
}

}  // namespace softneuro
