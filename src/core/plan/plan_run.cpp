#include "core/plan/plan_run.h"

#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/plan/segments.h"

namespace softneuro {
namespace {

std::string described(const Tensor& tensor) {
  std::string text = fmt::format("{} {}", to_string(tensor.data_type()), tensor.shape().str());
  if (tensor.layout() != Layout::plain)
    text += fmt::format(" in layout {} (bound tensors are plain)", to_string(tensor.layout()));
  return text;
}

// Whether a bound tensor is on the device that the plan has it on, where kernels can work with it.
Status check_place(const PlanImpl& plan, const PlannedTensor& planned, const Tensor& tensor,
                   const char* what, const std::string& name) {
  // Kernels of devices read and write whole vectors.
  constexpr std::size_t kVectorBytes = 16;
  const DeviceId device = plan.devices[planned.device].id;
  if (tensor.device() != device)
    return invalid_argument("{} '{}' is on the device {}, the plan has it on {} (Net::plan)", what,
                            name, tensor.device().c_str(), device.c_str());
  if (!device.is_host() && reinterpret_cast<std::uintptr_t>(tensor.data()) % kVectorBytes != 0)
    return invalid_argument("{} '{}' is on the device {} at an address that is no multiple of {}",
                            what, name, device.c_str(), kVectorBytes);
  return {};
}

Status in_layer(const Step& step, Status status) {
  return guarded(
      [&] { return std::move(status).with_context(fmt::format("layer '{}'", step.layer->name)); });
}

}  // namespace

Status check_input(const PlanImpl& plan, std::size_t i, const Tensor& tensor) {
  const PlannedTensor& planned = plan.tensors[plan.graph->inputs[i]];
  if (tensor.data_type() == planned.type && tensor.shape() == planned.shape &&
      tensor.layout() == Layout::plain)
    return check_place(plan, planned, tensor, "input", plan.inputs[i].name);
  return invalid_argument("input '{}' is {}, the plan takes {} {}", plan.inputs[i].name,
                          described(tensor), to_string(planned.type), planned.shape.str());
}

Status check_output(const PlanImpl& plan, std::size_t o, const Tensor& tensor) {
  const PlannedTensor& planned = plan.tensors[plan.graph->outputs[o]];
  const bool fixed = plan.has_fixed_shape(o);
  if (tensor.data_type() != planned.type || (fixed && !(tensor.shape() == planned.shape)) ||
      tensor.layout() != Layout::plain)
    return invalid_argument("output '{}' is bound to {}, the plan gives {} {}",
                            plan.outputs[o].name, described(tensor), to_string(planned.type),
                            fixed ? planned.shape.str() : plan.outputs[o].shape.str());
  if (!tensor.writable() && tensor.bytes() > 0)
    return invalid_argument("output '{}' is bound to read-only memory", plan.outputs[o].name);
  return check_place(plan, planned, tensor, "output", plan.outputs[o].name);
}

Status PlanRun::init(const PlanRun* before) {
  const std::size_t arena_bytes = plan_.devices[0].arena_bytes;
  if (before != nullptr && &before->allocator_ == &allocator_ &&
      before->arena_.bytes() >= arena_bytes) {
    arena_ = before->arena_;
  } else {
    SN_ASSIGN_OR_RETURN(arena_, allocate_bytes(arena_bytes, allocator_));
  }
  for (std::size_t d = 1; d < accelerators_.size(); ++d) {
    Device& device = *plan_.devices[d].device;
    SN_RETURN_IF_ERROR(take_arena(d, before));
    SN_ASSIGN_OR_RETURN(accelerators_[d].stream, device.create_stream());
  }
  for (std::size_t o = 0; o < session_outputs_.size(); ++o) {
    if (!plan_.has_fixed_shape(o)) continue;
    const PlannedTensor& planned = plan_.tensors[plan_.graph->outputs[o]];
    const DeviceId device = plan_.devices[planned.device].id;
    SN_ASSIGN_OR_RETURN(
        session_outputs_[o],
        Tensor::borrow_device(planned.type, planned.shape, device,
                              base(planned.device) + plan_.output_offsets[o], planned.bytes));
  }
  for (const Step& step : plan_.steps) SN_RETURN_IF_ERROR(add_step(step));
  for (const Segment& segment : plan_.segments)
    segments_.emplace_back(plan_, segment, *accelerators_[segment.device].stream,
                           [this, &segment] { return put_in(segment); });
  return {};
}

// On a device of the plan other than the host.
Status PlanRun::take_arena(std::size_t device, const PlanRun* before) {
  const PlannedDevice& planned = plan_.devices[device];
  for (std::size_t d = 1; before != nullptr && d < before->accelerators_.size(); ++d) {
    const auto& known = before->accelerators_[d].arena;
    if (before->plan_.devices[d].device != planned.device || known->bytes() < planned.arena_bytes)
      continue;
    accelerators_[device].arena = known;
    return {};
  }
  SN_ASSIGN_OR_RETURN(DeviceMemory arena, planned.device->allocate(planned.arena_bytes));
  accelerators_[device].arena = std::make_shared<const DeviceMemory>(std::move(arena));
  return {};
}

Status PlanRun::begin(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                      const RunOptions& options) {
  SN_RETURN_IF_ERROR(bind(inputs, outputs));
  const PoolBurst burst(plan_.runtime->pool());
  Cancellation cancellation(options.cancel);
  Status status = guarded([&] {
    Status ran = options.trace ? run_traced(options, cancellation) : run_steps(cancellation);
    return ran.ok() && cancellation.seen() ? cancelled() : ran;
  });
  // Nothing that was put into a stream may outlive a run that failed.
  if (!status.ok()) (void)synchronize();
  return status;
}

Status PlanRun::end(std::span<Tensor> outputs) {
  SN_RETURN_IF_ERROR(synchronize());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o].empty() && plan_.has_fixed_shape(o)) outputs[o] = session_outputs_[o];
  for (const OutputCopy& copy : plan_.copies)
    SN_RETURN_IF_ERROR(copy_output(copy, outputs[copy.output]));
  return {};
}

std::size_t PlanRun::dynamic_bytes() const {
  std::size_t bytes = 0;
  for (const DataDependentTensor& tensor : data_dependent_tensors_)
    bytes += tensor.buffer.bytes.bytes();
  for (const StepRun& step : steps_)
    if (step.data_dependent != nullptr) bytes += step.data_dependent->workspace_bytes();
  return bytes;
}

Status PlanRun::add_step(const Step& step) {
  StepRun& run = steps_.emplace_back();
  run.inputs = views_of(step.inputs);
  run.outputs = views_of(step.outputs);
  if (step.data_dependent) {
    run.data_dependent =
        std::make_unique<DataDependentStep>(plan_, step, data_dependent_tensors_, allocator_);
  } else {
    SN_ASSIGN_OR_RETURN(run.state, step.kernel->make_state());
  }
  return {};
}

std::vector<TensorView> PlanRun::views_of(const std::vector<TensorId>& ids) {
  std::vector<TensorView> views(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoTensor) continue;
    views[i] = view_of(ids[i]);
    const Storage storage = root_of(ids[i]).storage;
    if (storage == Storage::input || storage == Storage::output)
      patches_.push_back({&views[i], ids[i]});
  }
  return views;
}

void* PlanRun::pointer_of(TensorId id) const {
  const PlannedTensor& root = root_of(id);
  switch (root.storage) {
    case Storage::constant:
      return const_cast<void*>(root.constant.data());
    case Storage::arena:
      return base(root.device) + root.offset;
    case Storage::input:
      return const_cast<void*>(input_pointers_[root.io_index]);
    case Storage::output:
      return output_pointers_[root.io_index];
    default:
      return nullptr;
  }
}

TensorView PlanRun::view_of(TensorId id) const {
  const PlannedTensor& planned = plan_.tensors[id];
  if (planned.storage == Storage::data_dependent) return data_dependent_tensors_[id].view;
  return {planned.format.type, planned.format.layout, planned.shape, pointer_of(id)};
}

Status PlanRun::bind(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (inputs.size() != plan_.inputs.size())
    return invalid_argument("{} inputs are given, the plan takes {}", inputs.size(),
                            plan_.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SN_RETURN_IF_ERROR(check_input(plan_, i, inputs[i]));
    input_pointers_[i] = inputs[i].data();
  }
  if (outputs.size() != plan_.outputs.size())
    return invalid_argument("{} outputs are asked for, the plan gives {}", outputs.size(),
                            plan_.outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!plan_.has_fixed_shape(o)) continue;
    Tensor& output = outputs[o].empty() ? session_outputs_[o] : outputs[o];
    SN_RETURN_IF_ERROR(check_output(plan_, o, output));
    output_pointers_[o] = output.mutable_data();
  }
  for (const Patch& patch : patches_) patch.view->data = pointer_of(patch.tensor);
  return {};
}

Status PlanRun::run_steps(Cancellation& cancellation) {
  auto segment = segments_.begin();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (cancellation.requested()) return cancelled();
    if (segment != segments_.end() && segment->segment().first == s) {
      SN_RETURN_IF_ERROR(segment->run());
      s = segment++->segment().last;
    } else if (Status status = run_step(s, &cancellation); !status.ok()) {
      return in_layer(plan_.steps[s], std::move(status));
    }
  }
  return {};
}

Status PlanRun::put_in(const Segment& segment) {
  for (std::size_t s = segment.first; s <= segment.last; ++s)
    if (Status status = run_step(s, nullptr); !status.ok())
      return in_layer(plan_.steps[s], std::move(status));
  return {};
}

Status PlanRun::run_step(std::size_t s, Cancellation* cancellation) {
  const Step& step = plan_.steps[s];
  StepRun& run = steps_[s];
  if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
  const Workers workers(plan_.runtime->pool(),
                        step.layer->type->cancellable ? cancellation : nullptr);
  if (run.data_dependent != nullptr)
    return run.data_dependent->run(run.inputs, run.outputs, workers);
  Context context(run.inputs, run.outputs, base(step.device) + step.workspace_offset, workers);
  context.set_state(run.state.get());
  if (step.device != 0)
    context.set_device(accelerators_[step.device].stream.get(),
                       base() + step.host_workspace_offset);
  return step.kernel->run(context);
}

// Step by step: nothing is recorded or played.
Status PlanRun::run_traced(const RunOptions& options, Cancellation& cancellation) {
  DeviceTrace on_device;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    if (!stays_on_device(plan_, step) || !on_device.is_on(*accelerators_[step.device].stream))
      SN_RETURN_IF_ERROR(on_device.report(options, cancellation));
    if (cancellation.requested()) return cancelled();
    if (Status status = trace_step(s, on_device, options, cancellation); !status.ok())
      return in_layer(step, std::move(status));
  }
  return on_device.report(options, cancellation);
}

// A step that stays on its device is timed by the device's clock. One that also touches the host
// takes as long as it keeps the caller, until its results are there.
Status PlanRun::trace_step(std::size_t s, DeviceTrace& on_device, const RunOptions& options,
                           Cancellation& cancellation) {
  const Step& step = plan_.steps[s];
  if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
  StepTrace trace = {s,
                     plan_.steps.size(),
                     step.layer->name.c_str(),
                     step.layer->type->name.c_str(),
                     step.routine_name.c_str(),
                     clock_ns(),
                     0};
  const auto run = [&] { return run_step(s, &cancellation); };
  if (stays_on_device(plan_, step))
    return on_device.add(*accelerators_[step.device].stream, trace, run);
  SN_RETURN_IF_ERROR(run());
  if (step.device != 0) SN_RETURN_IF_ERROR(synchronize());
  trace.end_ns = clock_ns();
  options.trace(trace);
  return {};
}

// Waits for all devices; the first error of any.
Status PlanRun::synchronize() {
  Status status;
  for (const Accelerator& accelerator : accelerators_)
    if (accelerator.stream != nullptr)
      if (Status end = accelerator.stream->synchronize(); status.ok()) status = std::move(end);
  return status;
}

Status PlanRun::copy_output(const OutputCopy& copy, Tensor& to) const {
  const TensorView from = view_of(copy.from);
  const auto bytes = static_cast<std::size_t>(storage_bytes(from.type, from.shape, Layout::plain));
  if (plan_.tensors[copy.from].storage == Storage::data_dependent) {
    if (to.empty()) {
      SN_ASSIGN_OR_RETURN(to, Tensor::borrow(from.type, from.shape, from.data, bytes));
      return {};
    }
    if (to.data_type() != from.type || !(to.shape() == from.shape) ||
        (to.mutable_data() == nullptr && bytes > 0))
      return invalid_argument("output '{}' is {} {} this time, it is bound to {} {}",
                              plan_.outputs[copy.output].name, to_string(from.type),
                              from.shape.str(), to_string(to.data_type()), to.shape().str());
  }
  // NOLINTNEXTLINE: clang-tidy thinks of kNoTensor, which is never copied from.
  if (bytes > 0) std::memcpy(to.mutable_data(), from.data, bytes);
  return {};
}

}  // namespace softneuro
