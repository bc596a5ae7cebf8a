// What the naive rnn, gru and lstm share: directions, batch, sequence lengths and states.
#pragma once

#include "core/base/element.h"
#include "core/layers/recurrent_options.h"
#include "core/routine/routine.h"

namespace softneuro {

// One sequence in one direction, as a cell's step sees it. Rows of x and of the weights are read
// through the views; states are held in double.
struct RecurrentStep {
  const Context& context;
  int direction;
  std::int64_t x;  // where this step's input begins in x
  double* gates;   // [G·H], to be used freely
  double* h;       // [H], in and out
  double* c;       // [H], in and out; lstm only
};

class NaiveRecurrentKernel : public Kernel {
 public:
  NaiveRecurrentKernel(const RecurrentOptions& options, const RecurrentSizes& sizes)
      : options_(options), sizes_(sizes) {}
  std::size_t workspace_bytes() const noexcept override;
  Status run(Context& context) const noexcept override;

 protected:
  // Advances h (and c) by one step.
  virtual void step(const RecurrentStep& at) const noexcept = 0;

  // Row `row` of w times the step's input plus both biases, and row `row` of r times `h`.
  double input_product(const RecurrentStep& at, std::int64_t row) const noexcept;
  double state_product(const RecurrentStep& at, std::int64_t row, const double* h) const noexcept;
  // The biases of that row: of w and of r; 0 without.
  double w_bias(const RecurrentStep& at, std::int64_t row) const noexcept;
  double r_bias(const RecurrentStep& at, std::int64_t row) const noexcept;
  // Activation `which` of the direction, after clipping.
  double activate(const RecurrentStep& at, int which, double value) const noexcept;

  RecurrentOptions options_;
  RecurrentSizes sizes_;

 private:
  void run_sequence(Context& context, int direction, std::int64_t b,
                    std::int64_t length) const noexcept;
};

// The kernel K of a cell's cpu/naive for `problem`.
template <class K, RecurrentCell cell>
Result<std::unique_ptr<Kernel>> make_naive_recurrent(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const RecurrentOptions options, recurrent_options(cell, problem.params));
  return make_kernel<K>(options, recurrent_sizes(options, problem.inputs[kRecurrentX].shape,
                                                 problem.inputs[kRecurrentR].shape));
}

// lengths[b] must lie in [0, steps].
Status check_sequence_lengths(const TensorView& lengths, std::int64_t steps) noexcept;

}  // namespace softneuro
