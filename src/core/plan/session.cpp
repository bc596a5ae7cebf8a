// Session: the memory of one running plan, and the loop that runs it.
//
// Every step has its own tensor views, made once. run() only patches the pointers of the caller's
// inputs and outputs, then calls the kernels. Dynamic steps (shapes that depend on data) keep their
// last kernel and buffers and make new ones only when sizes change.
#include "softneuro/session.h"

#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"

namespace softneuro {
namespace {

// Memory that only grows.
struct GrowingBuffer {
  Tensor bytes;

  Status reserve(std::size_t needed, Allocator& allocator) {
    if (!bytes.empty() && bytes.bytes() >= needed) return {};
    const std::size_t size = std::max<std::size_t>(needed + needed / 2, 64);
    bytes = Tensor();  // give back first: the old contents are not needed
    SN_ASSIGN_OR_RETURN(bytes, allocate_bytes(size, allocator));
    return {};
  }
};

// A tensor whose shape is known at run time only.
struct DynamicTensor {
  GrowingBuffer buffer;
  TensorView view;  // as its step left it
};

// Gives data-dependent outputs memory from the session's growing buffers.
class DynamicContext final : public Context {
 public:
  DynamicContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
                 std::byte* workspace, Workers workers, const Step& step,
                 std::vector<DynamicTensor>& tensors, Allocator& allocator)
      : Context(inputs, outputs, workspace, workers),
        step_(step),
        tensors_(tensors),
        allocator_(allocator) {}

  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return guarded([&]() -> Status {
      if (i >= outputs_.size()) return internal_error("there is no output {}", i);
      if (!outputs_[i].present()) return {};
      const std::int64_t bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
      if (bytes < 0)
        return invalid_argument("output {} would have the shape {}, which is too large", i,
                                shape.str());
      GrowingBuffer& buffer = tensors_[step_.outputs[i]].buffer;
      SN_RETURN_IF_ERROR(buffer.reserve(static_cast<std::size_t>(bytes), allocator_));
      outputs_[i].shape = shape;
      outputs_[i].data = buffer.bytes.mutable_data();
      return {};
    });
  }

 private:
  const Step& step_;
  std::vector<DynamicTensor>& tensors_;
  Allocator& allocator_;
};

// A dynamic step at work for one session: its kernel, and what that was made for.
class DynamicStep {
 public:
  // `tensors`: one per tensor of the plan. All arguments outlive this object.
  DynamicStep(const PlanImpl& plan, const Step& step, std::vector<DynamicTensor>& tensors,
              Allocator& allocator)
      : plan_(plan), step_(step), tensors_(tensors), allocator_(allocator) {}

  Status run(std::span<TensorView> inputs, std::span<TensorView> outputs, Workers workers) {
    return guarded([&]() -> Status {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (const TensorId id = step_.inputs[i];
            id != kNoTensor && plan_.tensors[id].storage == Storage::dynamic)
          inputs[i] = tensors_[id].view;
      if (!is_prepared_for(inputs)) SN_RETURN_IF_ERROR(prepare(inputs));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        outputs[i] = {};
        if (step_.outputs[i] == kNoTensor) continue;
        outputs[i].type = plan_.tensors[step_.outputs[i]].type;
        if (step_.layer->type->data_dependent_output) continue;
        outputs[i].shape = problem_.outputs[i].shape;
        outputs[i].data = tensors_[step_.outputs[i]].buffer.bytes.mutable_data();
      }
      DynamicContext context(inputs, outputs,
                             static_cast<std::byte*>(workspace_.bytes.mutable_data()), workers,
                             step_, tensors_, allocator_);
      context.set_state(state_.get());
      SN_RETURN_IF_ERROR(kernel_->run(context));
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (step_.outputs[i] != kNoTensor) tensors_[step_.outputs[i]].view = outputs[i];
      return {};
    });
  }

  std::size_t workspace_bytes() const { return workspace_.bytes.bytes(); }

 private:
  // Same shapes, and same values where the kernel was made for values.
  bool is_prepared_for(std::span<const TensorView> now) const {
    if (!prepared_) return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const TensorSpec& before = problem_.inputs[i];
      if (before.type != now[i].type || !(before.shape == now[i].shape)) return false;
      if (!before.constant && before.value.bytes() > 0 &&
          std::memcmp(before.value.data(), now[i].data, before.value.bytes()) != 0)
        return false;
    }
    return true;
  }

  Status prepare(std::span<const TensorView> now) {
    prepared_ = false;
    std::vector<TensorSpec> specs;
    for (std::size_t i = 0; i < now.size(); ++i) {
      SN_ASSIGN_OR_RETURN(specs.emplace_back(), spec_of(i, now[i]));
    }
    SN_ASSIGN_OR_RETURN(problem_, make_problem(*step_.layer, std::move(specs)));
    // Before the kernel, which may take memory by the same sizes.
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      const TensorSpec& spec = problem_.outputs[i];
      if (!spec.present() || step_.layer->type->data_dependent_output) continue;
      const std::int64_t bytes = storage_bytes(spec.type, spec.shape, Layout::plain);
      SN_RETURN_IF_ERROR(
          tensors_[step_.outputs[i]].buffer.reserve(static_cast<std::size_t>(bytes), allocator_));
    }
    SN_ASSIGN_OR_RETURN(PreparedKernel prepared, prepare_kernel(plan_, *step_.layer, problem_));
    state_.reset();
    kernel_ = std::move(prepared.kernel);
    SN_ASSIGN_OR_RETURN(state_, kernel_->make_state());
    SN_RETURN_IF_ERROR(workspace_.reserve(kernel_->workspace_bytes(), allocator_));
    prepared_ = true;
    return {};
  }

  Result<TensorSpec> spec_of(std::size_t i, const TensorView& now) const {
    TensorSpec spec;
    spec.type = now.type;
    spec.shape = now.shape;
    if (!now.present()) return spec;
    const TensorId id = step_.inputs[i];
    // Not of a view of one that planning has not folded: it has no values of its own.
    spec.constant = !plan_.tensors[id].constant.empty();
    if (spec.constant) {
      spec.value = plan_.tensors[id].constant;
    } else if (step_.layer->type->needs_value(i)) {
      const auto bytes =
          static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, Layout::plain));
      SN_ASSIGN_OR_RETURN(const Tensor value,
                          Tensor::borrow_const(spec.type, spec.shape, now.data, bytes));
      SN_ASSIGN_OR_RETURN(spec.value, value.clone(allocator_));
    }
    spec.quantization = plan_.graph->tensor(id).quantization;
    return spec;
  }

  const PlanImpl& plan_;
  const Step& step_;
  std::vector<DynamicTensor>& tensors_;
  Allocator& allocator_;
  bool prepared_ = false;
  Problem problem_;  // with the values of value inputs
  std::shared_ptr<const Kernel> kernel_;
  std::unique_ptr<KernelState> state_;
  GrowingBuffer workspace_;
};

// --- checks of what a caller binds ---------------------------------------------------------------

std::string described(const Tensor& tensor) {
  std::string text = fmt::format("{} {}", to_string(tensor.data_type()), tensor.shape().str());
  if (tensor.layout() != Layout::plain)
    text += fmt::format(" in layout {} (bound tensors are plain)", to_string(tensor.layout()));
  return text;
}

Status check_input(const PlanImpl& plan, std::size_t i, const Tensor& tensor) {
  const PlannedTensor& planned = plan.tensors[plan.graph->inputs[i]];
  if (tensor.data_type() == planned.type && tensor.shape() == planned.shape &&
      tensor.layout() == Layout::plain)
    return {};
  return invalid_argument("input '{}' is {}, the plan takes {} {}", plan.inputs[i].name,
                          described(tensor), to_string(planned.type), planned.shape.str());
}

// Whether the caller's memory, which is there, fits. What depends on data is checked after the run.
Status check_output(const PlanImpl& plan, std::size_t o, const Tensor& tensor) {
  const PlannedTensor& planned = plan.tensors[plan.graph->outputs[o]];
  const bool fixed = planned.storage != Storage::dynamic;
  if (tensor.data_type() != planned.type || (fixed && !(tensor.shape() == planned.shape)) ||
      tensor.layout() != Layout::plain)
    return invalid_argument("output '{}' is bound to {}, the plan gives {} {}",
                            plan.outputs[o].name, described(tensor), to_string(planned.type),
                            fixed ? planned.shape.str() : plan.outputs[o].shape.str());
  if (!tensor.writable() && tensor.bytes() > 0)
    return invalid_argument("output '{}' is bound to read-only memory", plan.outputs[o].name);
  return {};
}

Result<std::size_t> index_of(std::span<const TensorInfo> infos, std::string_view name,
                             const char* what) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  return make_error(StatusCode::not_found, "the session has no {} '{}'; its {}s are {}", what, name,
                    what, names_of(infos));
}

// --- running -------------------------------------------------------------------------------------

// The memory of a plan for one session, and the loop over its steps.
class PlanRun {
 public:
  // Both outlive this object.
  PlanRun(const PlanImpl& plan, Allocator& allocator)
      : plan_(plan),
        allocator_(allocator),
        input_pointers_(plan.inputs.size()),
        output_pointers_(plan.outputs.size()),
        own_outputs_(plan.outputs.size()),
        dynamic_tensors_(plan.tensors.size()),
        accelerators_(plan.devices.size()) {}

  // `before`: the session's own of another plan, whose arena serves on if it is large enough; may
  // be null.
  Status init(const PlanRun* before) {
    const std::size_t arena_bytes = plan_.devices[0].arena_bytes;
    if (before != nullptr && &before->allocator_ == &allocator_ &&
        before->arena_.bytes() >= arena_bytes) {
      arena_ = before->arena_;
    } else {
      SN_ASSIGN_OR_RETURN(arena_, allocate_bytes(arena_bytes, allocator_));
    }
    for (std::size_t d = 1; d < accelerators_.size(); ++d) {
      Device& device = *plan_.devices[d].device;
      SN_ASSIGN_OR_RETURN(accelerators_[d].arena, device.allocate(plan_.devices[d].arena_bytes));
      SN_ASSIGN_OR_RETURN(accelerators_[d].stream, device.create_stream());
    }
    for (std::size_t o = 0; o < own_outputs_.size(); ++o) {
      const PlannedTensor& planned = plan_.tensors[plan_.graph->outputs[o]];
      if (planned.storage == Storage::dynamic) continue;
      SN_ASSIGN_OR_RETURN(own_outputs_[o],
                          Tensor::borrow(planned.type, planned.shape,
                                         base() + plan_.output_offsets[o], planned.bytes));
    }
    for (const Step& step : plan_.steps) SN_RETURN_IF_ERROR(add_step(step));
    return {};
  }

  // A run is a begin, which returns while devices may be at work, and an end. After a begin that
  // fails nothing is in flight.
  Status begin(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options) {
    SN_RETURN_IF_ERROR(bind(inputs, outputs));
    const PoolBurst burst(plan_.core->pool());
    Cancellation cancellation(options.cancel);
    Status status = guarded([&] {
      Status ran = run_steps(options, cancellation);
      return ran.ok() && cancellation.seen() ? cancelled() : ran;
    });
    // Nothing that was put into a stream may outlive a run that failed.
    if (!status.ok()) (void)synchronize();
    return status;
  }

  Status end(std::span<Tensor> outputs) {
    SN_RETURN_IF_ERROR(synchronize());
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].empty() && plan_.tensors[plan_.graph->outputs[o]].storage != Storage::dynamic)
        outputs[o] = own_outputs_[o];
    for (const OutputCopy& copy : plan_.copies)
      SN_RETURN_IF_ERROR(copy_output(copy, outputs[copy.output]));
    return {};
  }

  std::size_t dynamic_bytes() const {
    std::size_t bytes = 0;
    for (const DynamicTensor& tensor : dynamic_tensors_) bytes += tensor.buffer.bytes.bytes();
    for (const StepRun& step : steps_)
      if (step.dynamic != nullptr) bytes += step.dynamic->workspace_bytes();
    return bytes;
  }

 private:
  // A device of the plan other than the host, at work for this session.
  struct Accelerator {
    DeviceMemory arena;
    std::unique_ptr<Stream> stream;
  };
  struct StepRun {
    std::vector<TensorView> inputs;
    std::vector<TensorView> outputs;
    std::unique_ptr<DynamicStep> dynamic;  // null: the kernel is the plan's
    std::unique_ptr<KernelState> state;    // of that kernel
  };
  // A view whose pointer changes from run to run.
  struct Patch {
    TensorView* view;
    TensorId tensor;
  };

  Status add_step(const Step& step) {
    StepRun& run = steps_.emplace_back();
    run.inputs = views_of(step.inputs);
    run.outputs = views_of(step.outputs);
    if (step.dynamic) {
      run.dynamic = std::make_unique<DynamicStep>(plan_, step, dynamic_tensors_, allocator_);
    } else {
      SN_ASSIGN_OR_RETURN(run.state, step.kernel->make_state());
    }
    return {};
  }

  std::vector<TensorView> views_of(const std::vector<TensorId>& ids) {
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

  // Whose memory the tensor has.
  const PlannedTensor& root_of(TensorId id) const {
    return plan_.tensors[plan_.tensors[id].alias_of];
  }

  void* pointer_of(TensorId id) const {
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

  TensorView view_of(TensorId id) const {
    const PlannedTensor& planned = plan_.tensors[id];
    if (planned.storage == Storage::dynamic) return dynamic_tensors_[id].view;
    return {planned.format.type, planned.format.layout, planned.shape, pointer_of(id)};
  }

  // Where the arena of a device of the plan begins.
  std::byte* base(std::uint32_t device = 0) const {
    return static_cast<std::byte*>(device == 0 ? const_cast<void*>(arena_.data())
                                               : accelerators_[device].arena.data());
  }

  Status bind(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
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
      if (plan_.tensors[plan_.graph->outputs[o]].storage == Storage::dynamic) continue;
      Tensor& output = outputs[o].empty() ? own_outputs_[o] : outputs[o];
      SN_RETURN_IF_ERROR(check_output(plan_, o, output));
      output_pointers_[o] = output.mutable_data();
    }
    for (const Patch& patch : patches_) patch.view->data = pointer_of(patch.tensor);
    return {};
  }

  Status run_steps(const RunOptions& options, Cancellation& cancellation) {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (cancellation.requested()) return cancelled();
      if (Status status =
              options.trace ? run_traced(s, options, cancellation) : run_step(s, cancellation);
          !status.ok())
        return guarded([&] {
          return std::move(status).with_context(
              fmt::format("layer '{}'", plan_.steps[s].layer->name));
        });
    }
    return {};
  }

  Status run_step(std::size_t s, Cancellation& cancellation) {
    const Step& step = plan_.steps[s];
    StepRun& run = steps_[s];
    if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
    const Workers workers(plan_.core->pool(),
                          step.layer->type->cancellable ? &cancellation : nullptr);
    if (run.dynamic != nullptr) return run.dynamic->run(run.inputs, run.outputs, workers);
    Context context(run.inputs, run.outputs, base(step.device) + step.workspace_offset, workers);
    context.set_state(run.state.get());
    if (step.device != 0)
      context.set_device(accelerators_[step.device].stream.get(),
                         base() + step.host_workspace_offset);
    return step.kernel->run(context);
  }

  // A step that works on its device alone is timed by the device's clock. One that also touches the
  // host takes as long as it keeps the caller, until its results are there.
  Status run_traced(std::size_t s, const RunOptions& options, Cancellation& cancellation) {
    const Step& step = plan_.steps[s];
    if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
    StepTrace trace = {s,
                       plan_.steps.size(),
                       step.layer->name.c_str(),
                       step.layer->type->name.c_str(),
                       step.routine_name.c_str(),
                       clock_ns(),
                       0};
    if (step.device == 0 || step.layer->type->is_adapt()) {
      SN_RETURN_IF_ERROR(run_step(s, cancellation));
      if (step.device != 0) SN_RETURN_IF_ERROR(synchronize());
      trace.end_ns = clock_ns();
    } else {
      Stream& stream = *accelerators_[step.device].stream;
      SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> begin, stream.record());
      SN_RETURN_IF_ERROR(run_step(s, cancellation));
      SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> end, stream.record());
      SN_RETURN_IF_ERROR(stream.synchronize());
      SN_ASSIGN_OR_RETURN(const double us, stream.microseconds(*begin, *end));
      trace.end_ns = trace.begin_ns + static_cast<std::int64_t>(us * 1e3);
    }
    options.trace(trace);
    return {};
  }

  // Waits for all devices; the first error of any.
  Status synchronize() {
    Status status;
    for (const Accelerator& accelerator : accelerators_)
      if (accelerator.stream != nullptr)
        if (Status end = accelerator.stream->synchronize(); status.ok()) status = std::move(end);
    return status;
  }

  Status copy_output(const OutputCopy& copy, Tensor& to) const {
    const TensorView from = view_of(copy.from);
    const auto bytes =
        static_cast<std::size_t>(storage_bytes(from.type, from.shape, Layout::plain));
    if (plan_.tensors[copy.from].storage == Storage::dynamic) {
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

  const PlanImpl& plan_;
  Allocator& allocator_;
  Tensor arena_;
  std::vector<StepRun> steps_;
  std::vector<Patch> patches_;
  std::vector<const void*> input_pointers_;  // of this run
  std::vector<void*> output_pointers_;
  std::vector<Tensor> own_outputs_;             // views of the session's memory
  std::vector<DynamicTensor> dynamic_tensors_;  // per tensor; filled by dynamic steps
  // By device of the plan; the first, the host, has none. Destroyed before all other members: the
  // work in their streams, for which these wait then, reads and writes what the others hold.
  std::vector<Accelerator> accelerators_;
};

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Plan> of, const SessionOptions& with)
      : plan(std::move(of)),
        options(with),
        bound_inputs(plan->inputs().size()),
        bound_outputs(plan->outputs().size()),
        results(plan->outputs().size()),
        run(impl_of(*plan),
            options.allocator != nullptr ? *options.allocator : impl_of(*plan).core->allocator()) {}

  // An error while a run is in flight.
  Status check_idle() const {
    if (!in_flight) return {};
    return invalid_argument("a run of the session is in flight: call wait() first");
  }

  // Of a run on what is bound by name.
  Status begin(const RunOptions& run_options) {
    SN_RETURN_IF_ERROR(check_idle());
    has_results = false;
    for (std::size_t i = 0; i < bound_inputs.size(); ++i)
      if (bound_inputs[i].empty())
        return invalid_argument(
            "input '{}' is not set: bind it before the run (set_input, sn_session_set_input)",
            plan->inputs()[i].name);
    for (std::size_t o = 0; o < results.size(); ++o) results[o] = bound_outputs[o];
    SN_RETURN_IF_ERROR(run.begin(bound_inputs, results, run_options));
    in_flight = true;
    return {};
  }

  Status end() {
    if (!in_flight)
      return invalid_argument("no run of the session is in flight: call run_async() first");
    in_flight = false;
    SN_RETURN_IF_ERROR(run.end(results));
    has_results = true;
    return {};
  }

  const std::shared_ptr<const Plan> plan;
  const SessionOptions options;
  std::vector<Tensor> bound_inputs;   // by name; empty: not yet
  std::vector<Tensor> bound_outputs;  // empty: the session's memory
  std::vector<Tensor> results;        // of the last run on these
  bool has_results = false;
  bool in_flight = false;  // begin() without its end()
  PlanRun run;             // destroyed first: it waits for devices that read and write the others
};

// --- the public face ---------------------------------------------------------------------------

Session::Session(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(std::shared_ptr<const Plan> plan,
                                const SessionOptions& options) noexcept {
  return guarded([&]() -> Result<Session> {
    if (plan == nullptr)
      return invalid_argument("Session::create: the plan is null (did Net::plan fail?)");
    auto impl = std::make_unique<Impl>(std::move(plan), options);
    SN_RETURN_IF_ERROR(impl->run.init(nullptr));
    return Session(std::move(impl));
  });
}

Status Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_RETURN_IF_ERROR(impl_->run.begin(inputs, outputs, options));
    return impl_->run.end(outputs);
  });
}

Status Session::set_input(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t i, index_of(impl_->plan->inputs(), name, "input"));
    SN_RETURN_IF_ERROR(check_input(impl_of(*impl_->plan), i, tensor));
    impl_->bound_inputs[i] = tensor;
    return {};
  });
}

Status Session::set_output(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->plan->outputs(), name, "output"));
    if (!tensor.empty()) SN_RETURN_IF_ERROR(check_output(impl_of(*impl_->plan), o, tensor));
    impl_->bound_outputs[o] = tensor;
    return {};
  });
}

Status Session::run(const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->begin(options));
    return impl_->end();
  });
}

Status Session::run_async(const RunOptions& options) noexcept {
  return guarded([&] { return impl_->begin(options); });
}

Status Session::wait() noexcept {
  return guarded([&] { return impl_->end(); });
}

Result<Tensor> Session::output(std::string_view name) const noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->plan->outputs(), name, "output"));
    SN_RETURN_IF_ERROR(impl_->check_idle());
    if (!impl_->has_results)
      return invalid_argument(
          "output '{}' is not available yet: run the session on bound tensors first", name);
    return impl_->results[o];
  });
}

Status Session::set_plan(std::shared_ptr<const Plan> plan) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    if (plan == nullptr)
      return invalid_argument("Session::set_plan: the plan is null (did Net::plan fail?)");
    if (plan == impl_->plan) return {};
    if (impl_of(*plan).core != impl_of(*impl_->plan).core)
      return invalid_argument(
          "Session::set_plan: the plan is of another net: create a session for it");
    auto next = std::make_unique<Impl>(std::move(plan), impl_->options);
    SN_RETURN_IF_ERROR(next->run.init(&impl_->run));
    impl_ = std::move(next);
    return {};
  });
}

const Plan& Session::plan() const noexcept {
  return *impl_->plan;
}

std::size_t Session::dynamic_bytes() const noexcept {
  return impl_->run.dynamic_bytes();
}

}  // namespace softneuro
