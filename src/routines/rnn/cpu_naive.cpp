// rnn cpu/naive: the specification. h = f(x·wᵀ + h₋₁·rᵀ + biases), in double.
#include "core/routine/registry.h"
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

class NaiveRnn final : public Routine {
 public:
  NaiveRnn() : Routine("rnn", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const RecurrentOptions options,
                        recurrent_options(RecurrentCell::rnn, problem.params));
    return make_kernel<NaiveRnnKernel>(options,
                                       recurrent_sizes(options, problem.inputs[kRecurrentX].shape,
                                                       problem.inputs[kRecurrentR].shape));
  }
};

}  // namespace

Status register_routine_rnn_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveRnn>());
}

}  // namespace softneuro
