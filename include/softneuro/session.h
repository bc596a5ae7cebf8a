// Plan: a routine path made runnable for given shapes. Session: one thread's memory over a plan.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softneuro/tensor.h"

namespace softneuro {

// An input or output of a net: name, data type, and shape as far as it is known.
struct TensorInfo {
  std::string name;
  DataType type = DataType::undefined;
  DynamicShape shape;  // unknown dimensions carry their symbol ("batch"), if the model names one
};

// Where the bytes are. All figures in bytes, but for `sessions` and `plans`. Net::memory_report()
// is about the net and the plans that it keeps, Plan::memory_report() about one plan. Not counted:
// what libraries keep for each session, such as XNNPACK's own copy of the packed weights.
struct MemoryReport {
  std::size_t weights = 0;         // constants of the graph, mapped or not; not those
                                   // that a packed_only file lacks
  std::size_t packed_weights = 0;  // in the kernels' memory layouts, on the host; always of the
                                   // whole net
  // Of one session on the host: activations, workspace, and a buffer for each output of known
  // shape, also where the caller binds its own. Net: of the plan with the largest arena.
  std::size_t arena = 0;
  // Lower bound of the arena without the output buffers: the most that is alive at one time. Net:
  // the largest of its plans.
  std::size_t arena_minimum = 0;
  std::size_t dynamic = 0;        // data-dependent shapes: what a net's idle sessions took so far
  std::size_t sessions = 0;       // Net: idle sessions that Net::run keeps
  std::size_t plans = 0;          // Net: plans that it keeps; Plan: 1
  std::size_t device_arenas = 0;  // activations and workspace of one session on other devices
  // Packed weights on other devices; always of the whole net. The host has no copy of them, but
  // for those that a file brought along.
  std::size_t device_packed_weights = 0;
  std::size_t device_kept = 0;  // Net: what devices keep for later: see Net::trim()
};

// Made by Net::plan. Immutable and shared: any number of sessions on any number of threads may use
// one plan. Keeps what it needs of the net: NetOptions, graph, and packed weights, also those that
// a tuning has replaced in the net; the bytes of both are taken until the plan is gone.
class SN_API Plan {
 public:
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // In the order in which Session::run takes and gives tensors; valid as long as the plan. Output
  // shapes that depend on data are not static.
  std::span<const TensorInfo> inputs() const noexcept;
  std::span<const TensorInfo> outputs() const noexcept;
  // Bytes of one session's arena on the host (MemoryReport::arena).
  std::size_t arena_bytes() const noexcept;
  MemoryReport memory_report() const;  // may throw std::bad_alloc
  // One printable, human-readable line per step: layer, routine, shapes. May throw std::bad_alloc.
  std::string describe() const;

 private:
  struct Impl;
  friend struct PlanAccess;
  explicit Plan(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// What the trace callback gets: one step that has just run.
struct StepTrace {
  std::size_t index = 0;  // in plan order
  std::size_t count = 0;  // steps of the plan
  // Valid as long as the plan (with Net::run: during the call only, copy them): name, type, and the
  // routine's descriptor; "chosen at run time" for a step whose shapes depend on data.
  const char* layer = "";
  const char* layer_type = "";
  const char* routine = "";
  // Of the steady clock. A step on another device than the host takes as long as that device's
  // clock says; such steps in a row are waited for, and reported, together.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RunOptions {
  // Once it is true, run() returns cancelled; outputs have no meaning then, the session stays
  // usable. Checked between layers and inside long built-in kernels (matrix multiplications,
  // einsum, convolutions, pooling, recurrent layers by cpu/gemm); a call of oneDNN, XNNPACK or
  // Eigen that has begun, and kernels of other plugins, run to their end. Must stay valid until
  // run() or run_async() returns.
  const std::atomic<bool>* cancel = nullptr;
  // Called on the running thread after each step, in order; must not throw. Timing costs two clock
  // reads per step, only when set.
  std::function<void(const StepTrace&)> trace = {};
};

struct SessionOptions {
  // Memory for the arena, and, during runs, for tensors and workspace whose size depends on data;
  // null: the net's allocator. Must outlive the session.
  Allocator* allocator = nullptr;
};

// Thread compatible: one thread at a time. Keeps its plan alive, and with it all that it needs of
// the net, which may be gone before. A session that was moved from may only be assigned to or
// destroyed.
//
// Floating point: subnormals are kept (IEEE 754), the caller's rounding mode and flush-to-zero bits
// are neither changed nor relied on. NaN in gives NaN out, also of max, min, relu and pooling (but
// thresholded_relu and shrink are 0 of what is not greater), and infinity gives what IEEE makes of
// it, but for these routines, whose names Plan::describe() gives:
// - wg, wgnet (Winograd): where a tile holds NaN or infinity, all of its outputs may be NaN.
// - amx (matrix multiplications on AMX): infinity gives NaN; subnormals of float32 and bfloat16 are
//   treated as zero (DAZ).
// - bf16, depthwise_bf16, onednn in bfloat16 (products of bfloat16): subnormals likewise.
// - fp16 (accumulation in float16): a partial sum beyond 65504 becomes infinite.
// - cpu:qint8: what is beyond the range of the 8 bits, infinity included, becomes its end, and NaN
//   becomes a number. Casts to integers do the same; NaN becomes 0.
// fork(): a child may use sessions of its parent; they then run on the calling thread alone.
class SN_API Session {
 public:
  // Errors: invalid_argument (plan is null), out_of_memory, device_failed.
  static Result<Session> create(std::shared_ptr<const Plan> plan,
                                const SessionOptions& options = {}) noexcept;
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // inputs: as many as plan.inputs(), each of exactly that data type and shape, in plain layout;
  // read in place, never copied. outputs: as many as plan.outputs(). An empty tensor receives a
  // view of the session's memory, valid until the next run, set_plan() or the session's end; a
  // writable tensor of the right data type and shape is written in place (zero copy). Such a view
  // counts as one if it is passed again: clear it ({}) after set_plan(), and for outputs whose
  // shape depends on data, since its memory may be gone. Exceptions,
  // copied after the last step: an output that is an input, a constant, a duplicate of another
  // output, or a view of one of these, or whose shape depends on data. Inputs and outputs must not
  // overlap.
  // On planned shapes: allocates nothing (oneDNN, devices: docs/plugins.md), locks nothing while
  // kernels run. Results are bit-identical from run to run of one plan. Built-in routines give the
  // same bits for any number of threads; those of oneDNN, XNNPACK and Eigen only for the same one.
  // Errors: invalid_argument (number, data type, shape or layout of a tensor; a read-only output;
  // a run is in flight; values that a layer cannot take, such as an index out of range), cancelled,
  // device_failed, what a plugin's kernel returns; with data-dependent shapes also out_of_memory,
  // invalid_model and unsupported. The session stays usable; outputs are undefined.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options = {}) noexcept;

  // --- by name --------------------------------------------------------------------------------
  // Binds a tensor to the input of that name, for all runs to come. The session keeps the handle,
  // whose bytes are read anew by each run: fill them between runs.
  // Errors: not_found (no such input), invalid_argument (another data type, shape or layout).
  Status set_input(std::string_view name, const Tensor& tensor) noexcept;
  // Likewise an output, written in place as by the other run(); an empty tensor: the session's
  // memory, as at first. invalid_argument also for read-only memory. A shape that depends on data
  // is checked after the run, which then fails (invalid_argument). Extra outputs have names, too.
  Status set_output(std::string_view name, const Tensor& tensor) noexcept;
  // Runs on what is bound; all else as for the other run(). invalid_argument if an input is not.
  Status run(const RunOptions& options = {}) noexcept;
  // What the last run() on bound tensors, or run_async() and wait(), gave under that name: the
  // bound tensor, or a view of the session's memory, valid as said there. Errors: not_found (no
  // such output), invalid_argument (no such run, or it failed).
  Result<Tensor> output(std::string_view name) const noexcept;

  // --- asynchronously --------------------------------------------------------------------------
  // Like run() on what is bound, but returns while other devices are at work: their steps are put
  // into their streams. Steps on the host are computed by the call itself, as in run(); before one
  // that reads what a device writes, it waits. So everything has been computed when it returns if
  // all layers run on the host; likewise with a trace, which waits for all steps. Cancel flag and
  // trace are used by this call alone, not by wait().
  // Afterwards a run is in flight, until wait(): what is bound must stay valid, inputs must not be
  // written, outputs neither read nor written. Meanwhile all calls that run the session, bind,
  // change its plan or give an output are invalid_argument, and change nothing. The session may be
  // moved; where it is destroyed or assigned to, the streams are waited for first.
  // An error, cancelled included: the streams are empty, no run is in flight, and the session stays
  // usable. Allocates as little as run().
  Status run_async(const RunOptions& options = {}) noexcept;
  // Waits for the run in flight and completes its outputs, data-dependent ones too; output() gives
  // them then. Returns the first error that a stream reported, else that of completing the outputs.
  // In either case no run is in flight afterwards. invalid_argument if none was.
  Status wait() noexcept;

  // --- other shapes ---------------------------------------------------------------------------
  // Switches the session to another plan of the same net, normally for other shapes (with the one
  // it has, nothing changes):
  //   session.set_plan(net.plan({{"x", {8, 64}}}).value());
  // The net keeps its plans (NetOptions::max_plans), so going back to shapes that were planned
  // before is quick. An arena, on the host or on a device, stays if it is large enough; otherwise
  // the new one is allocated before the old one is freed. What was bound by name has to be
  // bound anew; views of the session's memory end. Errors: invalid_argument (null, or a plan of
  // another net), out_of_memory; the session is then as before, on its old plan.
  Status set_plan(std::shared_ptr<const Plan> plan) noexcept;

  const Plan& plan() const noexcept;  // valid until set_plan() or the session's end
  // Bytes that this session took for data-dependent shapes so far.
  std::size_t dynamic_bytes() const noexcept;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softneuro
