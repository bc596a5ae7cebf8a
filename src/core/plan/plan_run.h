// The memory of a plan for one session, and the loop over its steps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/plan/data_dependent_step.h"
#include "core/plan/device_trace.h"
#include "core/plan/plan_impl.h"
#include "core/plan/segment_run.h"

namespace softneuro {

// Whether the caller's tensor fits input `i` of the plan.
Status check_input(const PlanImpl& plan, std::size_t i, const Tensor& tensor);
// Whether the caller's memory, which is there, fits. What depends on data is checked after the run.
Status check_output(const PlanImpl& plan, std::size_t o, const Tensor& tensor);

// Every step has its own tensor views, made once. A run patches the pointers of the caller's inputs
// and outputs, then calls the kernels. Not thread-safe.
class PlanRun {
 public:
  // Both outlive this object.
  PlanRun(const PlanImpl& plan, Allocator& allocator)
      : plan_(plan),
        allocator_(allocator),
        input_pointers_(plan.inputs.size()),
        output_pointers_(plan.outputs.size()),
        session_outputs_(plan.outputs.size()),
        data_dependent_tensors_(plan.tensors.size()),
        accelerators_(plan.devices.size()) {}

  // `before`: the session's run of another plan, whose arenas serve on if they are large enough;
  // may be null.
  Status init(const PlanRun* before);
  // A run is a begin, which returns while devices may be at work, and an end. After a begin that
  // fails nothing is in flight.
  Status begin(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options);
  Status end(std::span<Tensor> outputs);
  std::size_t dynamic_bytes() const;

 private:
  // A device of the plan other than the host, at work for this session.
  struct Accelerator {
    std::shared_ptr<const DeviceMemory> arena;  // shared with what init() is given
    std::unique_ptr<Stream> stream;
  };
  struct StepRun {
    std::vector<TensorView> inputs;
    std::vector<TensorView> outputs;
    std::unique_ptr<DataDependentStep> data_dependent;  // null: the kernel is the plan's
    std::unique_ptr<KernelState> state;                 // of that kernel
  };
  // A view whose pointer changes from run to run.
  struct Patch {
    TensorView* view;
    TensorId tensor;
  };

  Status take_arena(std::size_t device, const PlanRun* before);
  Status add_step(const Step& step);
  std::vector<TensorView> views_of(const std::vector<TensorId>& ids);
  // Whose memory the tensor has.
  const PlannedTensor& root_of(TensorId id) const {
    return plan_.tensors[plan_.tensors[id].alias_of];
  }
  void* pointer_of(TensorId id) const;
  TensorView view_of(TensorId id) const;
  // Where the arena of a device of the plan begins.
  std::byte* base(std::uint32_t device = 0) const {
    return static_cast<std::byte*>(device == 0 ? const_cast<void*>(arena_.data())
                                               : accelerators_[device].arena->data());
  }
  Status bind(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  Status run_steps(Cancellation& cancellation);
  Status put_in(const Segment& segment);
  // `cancellation`: null where its work is kept.
  Status run_step(std::size_t s, Cancellation* cancellation);
  Status run_traced(const RunOptions& options, Cancellation& cancellation);
  Status trace_step(std::size_t s, DeviceTrace& on_device, const RunOptions& options,
                    Cancellation& cancellation);
  Status synchronize();
  Status copy_output(const OutputCopy& copy, Tensor& to) const;

  const PlanImpl& plan_;
  Allocator& allocator_;
  Tensor arena_;
  std::vector<StepRun> steps_;
  std::vector<Patch> patches_;
  std::vector<const void*> input_pointers_;  // of this run
  std::vector<void*> output_pointers_;
  std::vector<Tensor> session_outputs_;                      // views of the session's memory
  std::vector<DataDependentTensor> data_dependent_tensors_;  // per tensor
  // By device of the plan; the first, the host, has none. Destroyed before the members above: the
  // work in their streams, for which these wait then, reads and writes what those hold.
  std::vector<Accelerator> accelerators_;
  std::vector<SegmentRun> segments_;  // of the plan's; with recordings of those streams
};

}  // namespace softneuro
