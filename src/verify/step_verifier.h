// Whether what a step of a tuned plan gives is what the model gives there.
#pragma once

#include <span>
#include <string>

#include "core/plan/plan_impl.h"
#include "verify/tensor_difference.h"

namespace softneuro {

// Tensors are plain and in the model's types. `internal` where something differs by more than
// rounding explains: the message names the layer.
class StepVerifier {
 public:
  // `runtime` and `plan`, the tuned one, outlive it. `is_same_graph`: the plan is of the model's
  // graph.
  StepVerifier(Runtime& runtime, const PlanImpl& plan, bool is_same_graph)
      : runtime_(runtime), plan_(plan), is_same_graph_(is_same_graph) {}

  // The layer as the tuned graph has it, computed in float32, against the model's tensor.
  Status check_against_model(const Step& step, TensorId id, const Tensor& expected,
                             const Tensor& actual) const;
  // Output `o` of the step against `expected`, what exact arithmetic gives for `inputs`, which the
  // step took. `untouched`: what it gives for inputs that were not rounded to the step's formats;
  // null: none was.
  Status check_output(const Step& step, std::size_t o, const Tensor& expected, const Tensor& actual,
                      std::span<const Tensor> inputs, const Tensor* untouched) const;

 private:
  Result<double> error_of_rounding(const Step& step, std::size_t o, const Tensor& exact,
                                   std::span<const Tensor> inputs) const;
  Result<bool> are_nearest(const Step& step, std::size_t o, std::span<const Tensor* const> rounded,
                           std::span<const Tensor> inputs, Tolerance tolerance) const;
  std::string element_fault(const Step& step, const Tensor& actual,
                            std::span<const Tensor> inputs) const;
  bool is_checked_by_naive(const Step& step, std::size_t o) const;
  bool naive_is_cheap(const Layer& layer) const;
  Status mismatch_at(const Step& step, TensorId id, const std::string& why) const;

  Runtime& runtime_;
  const PlanImpl& plan_;
  const bool is_same_graph_;
};

}  // namespace softneuro
