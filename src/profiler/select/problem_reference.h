// What the candidates of a problem must give.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "profiler/measure/kernel_bench.h"

namespace softneuro {

// Random inputs of a problem in the model's formats, and what its default choice in float32 gives
// for them.
class ProblemReference {
 public:
  // Both outlive it.
  ProblemReference(Runtime& runtime, const Problem& model) : runtime_(runtime), model_(model) {}

  // Makes them, where that is not done. The problem's constants have their values.
  Status prepare(LastPacking& packing);
  // The inputs in the formats of `problem`, which is the model's in others.
  Result<std::vector<Tensor>> inputs_as(const Problem& problem) {
    return in_formats(inputs_, problem);
  }
  // Relative RMS of the worst output of a candidate; infinite where integers differ, or only one of
  // two numbers is NaN.
  Result<double> error_of(std::span<const Tensor> outputs, const FormatTuple& formats) const;
  // What an element-wise candidate gets wrong far from zero, on inputs of their own; empty if
  // nothing, and of other layers.
  Result<std::string> fault_in_tails(const KernelBench& bench, const Routine& routine,
                                     const Problem& problem);

 private:
  struct Inputs {
    std::vector<Tensor> plain;  // in the model's types
    std::map<std::string, Tensor> by_format;
  };
  Result<std::vector<Tensor>> in_formats(Inputs& inputs, const Problem& problem);

  Runtime& runtime_;
  const Problem& model_;
  Inputs inputs_, tails_;        // empty: not made yet
  std::vector<Tensor> outputs_;  // likewise
};

}  // namespace softneuro
