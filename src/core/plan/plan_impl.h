// The inside of a Plan: tensors with a place in memory and steps (kernels in order).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/plan/runtime.h"
#include "core/routine/routine_path.h"
#include "softneuro/session.h"

namespace softneuro {

// Where a tensor's bytes are while a session runs.
enum class Storage : std::uint8_t {
  none,            // unused
  input,           // the caller's input tensor
  output,          // the caller's output tensor, or the session's memory for it
  constant,        // PlannedTensor::constant
  arena,           // the session's arena of PlannedTensor::device, at PlannedTensor::offset
  data_dependent,  // shape known at run time only: a buffer of the session that grows
};

// What of a session's memory is on one device.
struct PlannedDevice {
  DeviceId id;
  Device* device = nullptr;       // nullptr: the host, which is the first
  std::size_t arena_bytes = 0;    // activations and workspace
  std::size_t arena_minimum = 0;  // the most that is alive at one time
};

// One per tensor of the plan's graph, same index.
struct PlannedTensor {
  Storage storage = Storage::none;
  DataType type = DataType::undefined;  // the model's: what shape inference sees
  Format format;  // how the bytes are stored; the model's type, plain, unless a choice says else
  Shape shape;    // not of data-dependent ones
  // The tensor whose memory this one has; itself unless view or in place.
  std::uint32_t alias_of = 0;
  std::uint32_t io_index = 0;  // index of the input or output for those storages
  std::uint32_t device = 0;    // index of the plan's device
  std::size_t offset = 0;      // in that device's arena
  std::size_t bytes = 0;
  Tensor constant;
};

struct PreparedKernel {
  const Routine* routine = nullptr;
  RoutineParams params;
  std::shared_ptr<const Kernel> kernel;
  // The kernel's packed weights, on its device, which it may share with others; empty: it has none.
  std::span<const std::byte> packed;
};

// Views have no kernel; those of data-dependent steps are chosen and made at run time.
struct Step : PreparedKernel {
  const Layer* layer = nullptr;  // of the plan's own graph
  std::string routine_name;
  std::vector<TensorId> inputs;  // kNoTensor: left out
  std::vector<TensorId> outputs;
  std::uint32_t device = 0;          // index of the plan's device that its routine works on
  std::size_t workspace_offset = 0;  // in that device's arena
  std::size_t host_workspace_offset = 0;
  bool needs_sync = false;      // reads what a device may still be writing
  bool data_dependent = false;  // shapes are known at run time only
  bool view = false;            // output 0 is input 0's bytes: no kernel
};

// Steps in a row that touch nothing but memory of one device, where no address changes as long as a
// session lives: it records them together.
struct Segment {
  std::size_t first = 0, last = 0;  // steps
  std::uint32_t device = 0;         // index of the plan's device
};

// An output whose bytes are made elsewhere: copied after the last step.
struct OutputCopy {
  TensorId from = kNoTensor;
  std::uint32_t output = 0;
};

// The way from a Plan to its inside, and back.
struct PlanAccess {
  using Impl = Plan::Impl;
  static const Impl& impl(const Plan& plan) noexcept { return *plan.impl_; }
  static std::shared_ptr<const Plan> make(std::unique_ptr<Impl> impl);
};
using PlanImpl = PlanAccess::Impl;
inline const PlanImpl& impl_of(const Plan& plan) noexcept {
  return PlanAccess::impl(plan);
}

struct Plan::Impl {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;
  std::vector<PlannedTensor> tensors;
  std::vector<Step> steps;
  std::vector<Segment> segments;  // in order
  std::vector<OutputCopy> copies;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  // Place of each output in the session's own memory, used where the caller binds none.
  std::vector<std::size_t> output_offsets;
  std::vector<PlannedDevice> devices = {PlannedDevice()};
  std::size_t weight_bytes = 0;
  Choices choices;  // by layer of `graph`; layers without one take default choices

  // Whether the shape of output `o` is known before a run.
  bool has_fixed_shape(std::size_t o) const {
    return tensors[graph->outputs[o]].storage != Storage::data_dependent;
  }
};

// "'x', 'y'" for messages; "none".
std::string names_of(std::span<const TensorInfo> infos);

// By layer, for the problem that it poses in the formats of its choice.
using Implementations = std::unordered_map<LayerId, ImplementationPtr>;

// Plans `graph` (verified, topologically sorted) for the given shapes of its inputs, in order.
// `cancel` may be null; once it is true: the status cancelled. `made`: implementations that are
// there already, since somebody has checked the choices; each is dropped once its kernel is made.
Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> runtime,
                                               std::shared_ptr<const Graph> graph,
                                               std::span<const Shape> input_shapes,
                                               Choices choices = {},
                                               const std::atomic<bool>* cancel = nullptr,
                                               Implementations made = {});
// The same without kernels and memory: tensors and steps, for code that looks at problems only.
Result<std::unique_ptr<PlanImpl>> infer_plan(std::shared_ptr<Runtime> runtime,
                                             std::shared_ptr<const Graph> graph,
                                             std::span<const Shape> input_shapes,
                                             const std::atomic<bool>* cancel = nullptr);

// The problem that a layer of the plan poses, in the formats of its choice. unsupported where
// shapes depend on data.
SN_INTREE Result<Problem> problem_of(const PlanImpl& plan, const Layer& layer);

// Packs and creates the kernel for the problem of a layer of the plan: as `choice` says, or if that
// is null or names no routine, the default one. `made`: of the choice; null: it is made here.
Result<PreparedKernel> prepare_kernel(const PlanImpl& plan, const Layer& layer, Problem problem,
                                      const Choice* choice = nullptr,
                                      ImplementationPtr made = nullptr);

// Gives every tensor that needs one a place in the arena, after views and in-place work are known.
// Fills storage, alias_of and offset of the tensors, the workspace_offset of the steps, copies,
// output_offsets and the sizes of the arena.
SN_INTREE void plan_memory(PlanImpl& plan);

}  // namespace softneuro
