// Kernel: what computes a layer, and what it may touch while it runs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/base/tensor_view.h"
#include "core/base/workers.h"
#include "core/device/device.h"
#include "softneuro/tensor.h"

namespace softneuro {

// Weights in the order a kernel wants them; made once, shared by all sessions and plans.
struct PackedWeights {
  // On the host: uint8, any length. Empty: the kernel reads the original constants, or those that
  // are on its device.
  Tensor bytes;
  // The same on the routine's device, for those that do not work on the host; see
  // Registry::upload(). Kernels share it.
  std::shared_ptr<const DeviceMemory> on_device;

  // Where the kernel reads them: addresses of its device. Empty: nowhere.
  std::span<const std::byte> place() const noexcept {
    if (on_device != nullptr)
      return {static_cast<const std::byte*>(on_device->data()), on_device->bytes()};
    return {static_cast<const std::byte*>(bytes.data()), bytes.bytes()};
  }
};

// What a kernel of a library whose operators bind pointers keeps per session.
class SN_INTREE KernelState {
 public:
  virtual ~KernelState();
};

// What a running kernel may touch.
class SN_INTREE Context {
 public:
  Context(std::span<const TensorView> inputs, std::span<TensorView> outputs, std::byte* workspace,
          Workers workers) noexcept
      : inputs_(inputs), outputs_(outputs), workspace_(workspace), workers_(workers) {}
  virtual ~Context() = default;

  std::span<const TensorView> inputs() const noexcept { return inputs_; }
  std::span<TensorView> outputs() const noexcept { return outputs_; }
  std::size_t input_count() const noexcept { return inputs_.size(); }
  std::size_t output_count() const noexcept { return outputs_.size(); }
  const TensorView& input(std::size_t i) const noexcept { return inputs_[i]; }
  const TensorView& output(std::size_t i) const noexcept { return outputs_[i]; }
  bool has_input(std::size_t i) const noexcept {
    return i < inputs_.size() && inputs_[i].present();
  }
  bool has_output(std::size_t i) const noexcept {
    return i < outputs_.size() && outputs_[i].present();
  }
  // Kernel::workspace_bytes() bytes aligned to kTensorAlignment, contents undefined; on the
  // routine's device.
  std::byte* workspace() const noexcept { return workspace_; }
  // Kernel::host_workspace_bytes() bytes of the host likewise.
  std::byte* host_workspace() const noexcept { return host_workspace_; }
  // Where a kernel of another device than the host puts its work; else nullptr.
  Stream* stream() const noexcept { return stream_; }
  void set_device(Stream* stream, std::byte* host_workspace) noexcept {
    stream_ = stream;
    host_workspace_ = host_workspace;
  }
  Workers pool() const noexcept { return workers_; }
  // What the kernel's make_state() gave to this session; nullptr if it has no state.
  KernelState* state() const noexcept { return state_; }
  void set_state(KernelState* state) noexcept { state_ = state; }
  // For layer types with data_dependent_output only: gives output i its shape and memory.
  // Afterwards output(i) carries both.
  virtual Status allocate_output(std::size_t i, const Shape& shape) noexcept;

 protected:
  std::span<const TensorView> inputs_;
  std::span<TensorView> outputs_;
  std::byte* workspace_;
  Workers workers_;
  KernelState* state_ = nullptr;
  Stream* stream_ = nullptr;
  std::byte* host_workspace_ = nullptr;
};

// An implementation with fixed parameters, ready to run. Immutable: one kernel serves any
// number of sessions at once; everything that changes is in the context.
class SN_INTREE Kernel {
 public:
  virtual ~Kernel();
  virtual std::size_t workspace_bytes() const noexcept { return 0; }
  // For kernels of other devices: what they need on the host besides.
  virtual std::size_t host_workspace_bytes() const noexcept { return 0; }
  // Index of an input whose memory may also be output 0's; −1 if none may.
  virtual int in_place_input() const noexcept { return -1; }
  // What one session needs besides workspace; nullptr: nothing more. Called once per session, may
  // allocate.
  virtual Result<std::unique_ptr<KernelState>> make_state() const {
    return std::unique_ptr<KernelState>();
  }
  // The post-ops of Implementation::problem() are part of the work. Data-dependent
  // errors (an index out of range) are returned; everything else was checked before. A kernel of
  // another device than the host returns when its work is put into context.stream(); of its
  // tensors, those of the host are read when it returns, and written when the stream is
  // synchronised. Constants of the host are none of its inputs: it takes them from
  // Implementation::pack(). Where it touches no host memory, what it puts in may be recorded
  // (Stream::begin_recording) and played in place of later calls with the same context: it must be
  // the same each time, and what else a call does on the host is not done then.
  virtual Status run(Context& context) const noexcept = 0;
};

template <class K, class... Args>
Result<std::unique_ptr<Kernel>> make_kernel(Args&&... args) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::forward<Args>(args)...));
}

}  // namespace softneuro
