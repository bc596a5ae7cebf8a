// A step of a plan whose shapes depend on data, at work for one session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/plan/plan_impl.h"

namespace softneuro {

// Memory that only grows.
struct GrowingBuffer {
  Tensor bytes;

  Status reserve(std::size_t needed, Allocator& allocator);
};

// A tensor whose shape is known at run time only.
struct DataDependentTensor {
  GrowingBuffer buffer;
  TensorView view;  // as its step left it
};

// Keeps its last kernel and buffers, and makes new ones only when shapes change, or values that the
// kernel was made for. Not thread-safe.
class DataDependentStep {
 public:
  // `tensors`: one per tensor of the plan. All arguments outlive this object.
  DataDependentStep(const PlanImpl& plan, const Step& step,
                    std::vector<DataDependentTensor>& tensors, Allocator& allocator)
      : plan_(plan), step_(step), tensors_(tensors), allocator_(allocator) {}

  // The views of tensors that depend on data are taken from `tensors`, and left there.
  Status run(std::span<TensorView> inputs, std::span<TensorView> outputs, Workers workers);

  std::size_t workspace_bytes() const { return workspace_.bytes.bytes(); }

 private:
  bool is_prepared_for(std::span<const TensorView> now) const;
  Status prepare(std::span<const TensorView> now);
  Result<TensorSpec> spec_of(std::size_t i, const TensorView& now) const;

  const PlanImpl& plan_;
  const Step& step_;
  std::vector<DataDependentTensor>& tensors_;
  Allocator& allocator_;
  bool prepared_ = false;
  Problem problem_;  // with the values of value inputs
  std::shared_ptr<const Kernel> kernel_;
  std::unique_ptr<KernelState> state_;
  GrowingBuffer workspace_;
};

}  // namespace softneuro
