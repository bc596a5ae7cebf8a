// Routine → Kernel → run: how a layer is computed (the paper's section II-B).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/cpu.h"
#include "core/base/tensor_view.h"
#include "core/base/workers.h"
#include "core/device/device.h"
#include "core/routine/format.h"
#include "core/routine/param_space.h"
#include "core/routine/problem.h"

namespace softneuro {

// device[:dtype[:layout]]/algorithm. parse(str(d)) == d; left-out parts mean float32 and plain.
// The data type is that of the arithmetic on real-valued tensors; tensors of integers and
// booleans keep the model's type in every schema.
struct RoutineDescriptor {
  DeviceId device;
  DataType type = DataType::float32;
  Layout layout = Layout::plain;
  std::string algorithm;  // "naive", "wg", "onednn"

  SN_INTREE std::string str() const;
  // The part before the slash, canonical: "cpu", "cpu:qint8", "cpu:float32:nchw16c".
  SN_INTREE std::string schema() const;
  SN_INTREE static Result<RoutineDescriptor> parse(std::string_view text);
  bool operator==(const RoutineDescriptor&) const = default;
};
// Why a routine has no formats (Routine::formats) for the tensors of a layer.
SN_INTREE std::string no_format_reason(const RoutineDescriptor& descriptor);

// Whether a routine can compute a problem *correctly*; if not, why (one short sentence).
// Speed does not count: the profiler measures it.
class Applicability {
 public:
  static Applicability yes() { return {}; }
  static Applicability no(std::string reason) {
    Applicability a;
    a.reason_ = std::move(reason);
    if (a.reason_.empty()) a.reason_ = "refused without a reason";
    return a;
  }
  bool ok() const { return reason_.empty(); }
  explicit operator bool() const { return ok(); }
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// Chosen values of a routine's own parameters (tile_size, impl…): the paper's Table III.
using RoutineParams = Params;

// Weights in the order a kernel wants them; made once, shared by all sessions and plans.
struct PackedWeights {
  Tensor bytes;  // uint8, any length; empty: the kernel reads the original constants
  // The same on the routine's device, for those that do not work on the host; see
  // Registry::upload(). Kernels share it.
  std::shared_ptr<const DeviceMemory> on_device;
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

// A routine prepared for one problem with fixed parameters. Immutable: one kernel serves any
// number of sessions at once; everything that changes lies in the context.
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
  // Post-ops are part of the work (the routine said supports_post_ops). Data-dependent
  // errors (an index out of range) are returned; everything else was checked before. A kernel of
  // another device than the host returns when its work is put into context.stream(); of its
  // tensors, those of the host are read when it returns, and written when the stream is
  // synchronised. Constants of the host are none of its inputs: it takes them from pack().
  virtual Status run(Context& context) const noexcept = 0;
};

class ChildnetRoutine;

// One implementation of one layer type. Stateless and const: one object per registry. It has more
// than 20 methods, since it is an interface: a routine overrides only those that it needs.
class SN_INTREE Routine {
 public:
  Routine(std::string_view layer_type,
          std::string_view descriptor);  // must parse: checked by tests
  virtual ~Routine();

  const std::string& layer_type() const { return layer_type_; }
  const RoutineDescriptor& descriptor() const { return descriptor_; }
  // This object if it is a ChildnetRoutine, else nullptr: a dynamic_cast for builds without type
  // information.
  virtual const ChildnetRoutine* as_childnet() const { return nullptr; }
  // Raised whenever results or speed may change: part of the profile cache's key.
  virtual int version() const { return 1; }
  // Version of the library that does the work ("onednn 2.6.3"); part of that key too.
  virtual std::string library() const { return {}; }
  // Features of the processor without which the kernels must not run: the registry refuses then.
  virtual CpuFeatures needs() const { return {}; }
  // The data type in which sums of products are kept. float16: they may overflow on the way to a
  // result that fits.
  virtual DataType accumulator_type() const { return DataType::float32; }
  // Where nothing was measured, the applicable routine with the highest rank is used. cpu/naive has
  // rank 0. A guess, not a measurement.
  virtual int default_rank() const { return 0; }
  // How fast it computes `problem` where nothing was measured, > 0: multiply-adds (or other steps)
  // in a given time, as a multiple of those of the library's dense products on channels-last
  // tensors. It weighs formats against each other; among routines of the same formats the rank
  // decides. A guess that holds for the kind of kernel, on every processor. infinity: the
  // application brought the routine along to have it used, and no other format may win.
  virtual double default_speed(const Problem&) const { return 1; }

  // The formats in which the routine would take and give the tensors of `problem`, which comes in
  // the model's own types and plain layout. Each tuple is a problem of its own to be asked about
  // (applicable) and measured. Default: every real tensor in the descriptor's type and layout.
  // Constants keep the model's format. A qint8 routine may offer float32 outputs, too.
  virtual std::vector<FormatTuple> formats(const Problem& problem) const;
  // Called only by the registry, which has checked before that the layouts are the descriptor's own
  // and that no data type is undefined, or qint8 unless the descriptor says so. Default: always.
  virtual Applicability applicable(const Problem&) const { return Applicability::yes(); }
  // Whether the kernel does the problem's post-ops itself. If not, a layer with post-ops is still a
  // candidate: the registry puts a kernel behind it that applies them.
  virtual bool supports_post_ops(const Problem&) const { return false; }
  // Parameters to use where nothing was tuned; constant time.
  virtual RoutineParams default_params(const Problem&) const { return {}; }
  // Values that the profiler may try; contains default_params(). Default: those alone.
  virtual ParamSpace param_space(const Problem&) const { return {}; }
  // Whether create() takes `params`, which may come from a file; if not, why. Default: those of
  // default_params() and param_space().
  virtual Applicability check_params(const Problem& problem, const RoutineParams& params) const;
  // Bytes that pack() writes; 0: the kernel reads the original constants. Does not depend on the
  // values of the constants. Packed weights of that size in a file are used unchecked.
  virtual Result<std::size_t> packed_bytes(const Problem&, const RoutineParams&) const { return 0; }
  // Writes the weights, reordered for create(), to `packed`: packed_bytes() bytes, aligned to
  // kTensorAlignment. `scratch` is for temporary memory. Uses no threads. Called once per layer and
  // pack_key(); not called where packed_bytes() is 0. pack_key() must contain everything besides
  // the weights that the packed bytes depend on: routine parameters, and shapes of other inputs.
  // Packed bytes should not depend on shapes, so that plans for several shapes share them.
  virtual Status pack(const Problem&, const RoutineParams&, Allocator& scratch,
                      std::byte* packed) const;
  // False if create() and run() use only the packed bytes, not the original constants. Then a
  // childnet need not keep constants that it computed only for such layers.
  virtual bool reads_constants(const Problem&) const { return true; }
  // Distinguishes the packings of one layer's weights; equal keys share the bytes.
  virtual std::string pack_key(const Problem&, const RoutineParams&) const { return {}; }
  // Precondition: applicable(problem), and packed has packed_bytes(). Kernels keep what they need
  // (Tensor handles share ownership); they never keep references into `problem`.
  virtual Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                                 const RoutineParams& params,
                                                 const PackedWeights& packed) const = 0;

 private:
  std::string layer_type_;
  RoutineDescriptor descriptor_;
};

// For Routine::create().
template <class K, class... Args>
Result<std::unique_ptr<Kernel>> make_kernel(Args&&... args) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::forward<Args>(args)...));
}

// The packed weights of `routine` for `problem` in memory of `allocator`; empty if there are none.
SN_INTREE Result<PackedWeights> pack_weights(const Routine& routine, const Problem& problem,
                                             const RoutineParams& params, Allocator& allocator);

}  // namespace softneuro
