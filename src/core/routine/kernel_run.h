// One kernel with all that it needs to run apart from a plan: outputs, workspace, state, and for a
// kernel of another device than the host a stream, and memory there.
#pragma once

#include <memory>
#include <vector>

#include "core/routine/routine.h"

namespace softneuro {

// It has a field for each thing that a kernel may need, on the host and on a device.
class SN_INTREE KernelRun {
 public:
  KernelRun() = default;  // of nothing; to be assigned to
  // `device`: of the kernel's routine; null: the host. `inputs` are on the host, in the problem's
  // types and layouts (empty where left out), and are shared with the caller. Outputs and workspace
  // on the host come from `allocator`, which outlives this object, as the kernel does.
  // out_of_memory if an output has more than max_bytes.
  static Result<KernelRun> create(const Kernel& kernel, const Problem& problem, Device* device,
                                  std::vector<Tensor> inputs, Allocator& allocator,
                                  std::int64_t max_bytes = INT64_MAX);

  // From now on output 0 takes the memory of the kernel's in_place_input(): of the device, from
  // where finish() brings it, or that of the host's input. Precondition: it has one.
  void work_in_place() noexcept;
  // The kernel's run(): a device may still be at work when it returns.
  Status start(const Workers& workers) noexcept;
  // Waits for it; then all outputs are on the host.
  Status finish() noexcept;

  std::vector<Tensor>& outputs() noexcept { return outputs_; }
  const std::vector<Tensor>& outputs() const noexcept { return outputs_; }
  const std::vector<Tensor>& inputs() const noexcept { return inputs_; }
  Stream* stream() const noexcept { return stream_.get(); }  // null: on the host
  // Whether a kernel of another device reads or writes memory of the host.
  bool touches_host() const noexcept { return touches_host_; }

 private:
  Status add_output(std::size_t i, const Problem& problem);
  Status use_device(Device& device, const Problem& problem);

  const Kernel* kernel_ = nullptr;
  Allocator* allocator_ = nullptr;
  std::int64_t max_bytes_ = 0;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<TensorView> input_views_, output_views_;
  Tensor workspace_;
  std::unique_ptr<KernelState> state_;
  // Of a kernel that does not work on the host.
  std::vector<DeviceMemory> device_inputs_, device_outputs_;  // none for tensors on the host
  DeviceMemory device_workspace_;
  bool touches_host_ = false;
  std::unique_ptr<Stream> stream_;  // destroyed first: it waits for work on the others
};

}  // namespace softneuro
