// Session: the memory of one running plan, and the loop that runs it.
//
// Every step has its own run of tensor views in one flat array, made once. run() only patches the
// pointers of the caller's inputs and outputs, then calls the kernels. Dynamic steps (shapes that
// depend on data) keep their last kernel and buffers and make new ones only when sizes change.
#include "softneuro/session.h"

#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"

namespace softneuro {
namespace {

// Memory that only grows, for one dynamic tensor.
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

// What a dynamic step was last prepared for.
struct DynamicState {
  bool prepared = false;
  std::vector<TensorSpec> inputs;  // shapes, and values of value inputs
  std::vector<Shape> output_shapes;
  std::shared_ptr<const Kernel> kernel;
  std::unique_ptr<KernelState> kernel_state;
  GrowingBuffer workspace;
};

// Gives data-dependent outputs memory from the session's growing buffers.
class DynamicContext final : public Context {
 public:
  DynamicContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
                 std::byte* workspace, Workers workers, const Step& step,
                 std::vector<GrowingBuffer>& buffers, Allocator& allocator)
      : Context(inputs, outputs, workspace, workers),
        step_(step),
        buffers_(buffers),
        allocator_(allocator) {}

  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return guarded([&]() -> Status {
      if (i >= outputs_.size()) return internal_error("there is no output {}", i);
      if (!outputs_[i].present()) return {};
      const std::int64_t bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
      if (bytes < 0)
        return invalid_argument("output {} would have the shape {}, which is too large", i,
                                shape.str());
      GrowingBuffer& buffer = buffers_[step_.outputs[i]];
      SN_RETURN_IF_ERROR(buffer.reserve(static_cast<std::size_t>(bytes), allocator_));
      outputs_[i].shape = shape;
      outputs_[i].data = buffer.bytes.mutable_data();
      return {};
    });
  }

 private:
  const Step& step_;
  std::vector<GrowingBuffer>& buffers_;
  Allocator& allocator_;
};

std::string described(const Tensor& tensor) {
  std::string text = fmt::format("{} {}", to_string(tensor.data_type()), tensor.shape().str());
  if (tensor.layout() != Layout::plain)
    text += fmt::format(" in layout {} (bound tensors are plain)", to_string(tensor.layout()));
  return text;
}

// Same shapes, and same values where the kernel was made for values.
bool same_as_before(const Step& step, std::span<const TensorView> now, const DynamicState& state) {
  if (!state.prepared) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const TensorSpec& before = state.inputs[i];
    if (before.type != now[i].type) return false;
    if (!now[i].present()) continue;
    if (!(before.shape == now[i].shape)) return false;
    const bool by_value = step.layer->type->needs_value(i);
    if (by_value && !before.constant && before.value.bytes() > 0 &&
        std::memcmp(before.value.data(), now[i].data, before.value.bytes()) != 0)
      return false;
  }
  return true;
}

}  // namespace

struct Session::Impl {
  // A device of the plan other than the host, at work for this session.
  struct Accelerator {
    DeviceMemory arena;
    std::unique_ptr<Stream> stream;
  };
  // Where a step's views begin in `views`.
  struct StepViews {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t dynamic = 0;  // index into `dynamic_states`
    std::unique_ptr<KernelState> state;
  };
  // A view whose pointer changes from run to run.
  struct Patch {
    std::size_t view;
    std::uint32_t io_index;
  };

  explicit Impl(std::shared_ptr<const Plan> p) : plan(std::move(p)), impl(impl_of(*plan)) {}

  // --- preparing ---------------------------------------------------------------------------------

  const void* pointer_of(TensorId id) const {
    const PlannedTensor& root = impl.tensors[impl.tensors[id].alias_of];
    switch (root.storage) {
      case Storage::constant:
        return root.constant.data();
      case Storage::arena:
        return base(root.device) + root.offset;
      case Storage::input:
        return input_pointers[root.io_index];
      case Storage::output:
        return output_pointers[root.io_index];
      default:
        return nullptr;
    }
  }

  TensorView view_of(TensorId id) const {
    if (id == kNoTensor) return {};
    const PlannedTensor& planned = impl.tensors[id];
    if (planned.storage == Storage::dynamic) return dynamic_views[id];
    return {planned.format.type, planned.format.layout, planned.shape,
            const_cast<void*>(pointer_of(id))};
  }

  // `before`: the session's own of another plan, whose arena serves on if it is large enough.
  Status init(const SessionOptions& options, const Impl* before = nullptr) {
    given = options;
    allocator = options.allocator != nullptr ? options.allocator : &impl.core->allocator();
    if (before != nullptr && before->allocator == allocator &&
        before->arena.bytes() >= impl.devices[0].arena_bytes) {
      arena = before->arena;
    } else {
      SN_ASSIGN_OR_RETURN(arena, allocate_bytes(impl.devices[0].arena_bytes, *allocator));
    }
    SN_RETURN_IF_ERROR(init_devices());
    bound_inputs.resize(impl.inputs.size());
    bound_outputs.resize(impl.outputs.size());
    results.resize(impl.outputs.size());
    input_pointers.assign(impl.inputs.size(), nullptr);
    output_pointers.assign(impl.outputs.size(), nullptr);
    own_outputs.resize(impl.outputs.size());
    dynamic_views.resize(impl.tensors.size());
    dynamic_buffers.resize(impl.tensors.size());

    for (std::size_t o = 0; o < impl.outputs.size(); ++o) {
      const PlannedTensor& planned = impl.tensors[impl.graph->outputs[o]];
      if (planned.storage == Storage::dynamic) continue;
      SN_ASSIGN_OR_RETURN(own_outputs[o],
                          Tensor::borrow(planned.type, planned.shape,
                                         base() + impl.output_offsets[o], planned.bytes));
    }
    for (const Step& step : impl.steps) {
      StepViews places;
      const auto append = [&](const std::vector<TensorId>& ids) {
        const std::size_t begin = views.size();
        for (const TensorId id : ids) {
          if (id != kNoTensor && impl.tensors[id].storage != Storage::dynamic) {
            const PlannedTensor& root = impl.tensors[impl.tensors[id].alias_of];
            if (root.storage == Storage::input)
              input_patches.push_back({views.size(), root.io_index});
            if (root.storage == Storage::output)
              output_patches.push_back({views.size(), root.io_index});
          }
          views.push_back(view_of(id));
        }
        return begin;
      };
      places.inputs = append(step.inputs);
      places.outputs = append(step.outputs);
      if (step.dynamic) {
        places.dynamic = dynamic_states.size();
        dynamic_states.emplace_back();
      } else {
        SN_ASSIGN_OR_RETURN(places.state, step.kernel->make_state());
      }
      step_views.push_back(std::move(places));
    }
    return {};
  }

  Status init_devices() {
    accelerators.resize(impl.devices.size());
    for (std::size_t d = 1; d < accelerators.size(); ++d) {
      Device& device = *impl.devices[d].device;
      SN_ASSIGN_OR_RETURN(accelerators[d].arena, device.allocate(impl.devices[d].arena_bytes));
      SN_ASSIGN_OR_RETURN(accelerators[d].stream, device.create_stream());
    }
    return {};
  }

  // --- running -----------------------------------------------------------------------------------

  Status check_input(std::size_t i, const Tensor& tensor) const {
    const PlannedTensor& planned = impl.tensors[impl.graph->inputs[i]];
    if (tensor.data_type() == planned.type && tensor.shape() == planned.shape &&
        tensor.layout() == Layout::plain)
      return {};
    return invalid_argument("input '{}' is {}, the plan takes {} {}", impl.inputs[i].name,
                            described(tensor), to_string(planned.type), planned.shape.str());
  }

  Status check_inputs(std::span<const Tensor> inputs) const {
    if (inputs.size() != impl.inputs.size())
      return invalid_argument("{} inputs are given, the plan takes {}", inputs.size(),
                              impl.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) SN_RETURN_IF_ERROR(check_input(i, inputs[i]));
    return {};
  }

  // Whether the caller's memory, which is there, fits. What depends on data is checked after the
  // run.
  Status check_output(std::size_t o, const Tensor& tensor) const {
    const PlannedTensor& planned = impl.tensors[impl.graph->outputs[o]];
    const bool fixed = planned.storage != Storage::dynamic;
    if (tensor.data_type() != planned.type || (fixed && !(tensor.shape() == planned.shape)) ||
        tensor.layout() != Layout::plain)
      return invalid_argument("output '{}' is bound to {}, the plan gives {} {}",
                              impl.outputs[o].name, described(tensor), to_string(planned.type),
                              fixed ? planned.shape.str() : impl.outputs[o].shape.str());
    if (!tensor.writable() && tensor.bytes() > 0)
      return invalid_argument("output '{}' is bound to read-only memory", impl.outputs[o].name);
    return {};
  }

  Status bind_outputs(std::span<Tensor> outputs) {
    if (outputs.size() != impl.outputs.size())
      return invalid_argument("{} outputs are asked for, the plan gives {}", outputs.size(),
                              impl.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const PlannedTensor& planned = impl.tensors[impl.graph->outputs[o]];
      if (planned.storage == Storage::dynamic) continue;
      if (outputs[o].empty()) {
        output_pointers[o] = own_outputs[o].mutable_data();
        continue;
      }
      SN_RETURN_IF_ERROR(check_output(o, outputs[o]));
      output_pointers[o] = outputs[o].mutable_data();
    }
    return {};
  }

  void patch(std::span<const Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) input_pointers[i] = inputs[i].data();
    for (const Patch& p : input_patches)
      views[p.view].data = const_cast<void*>(input_pointers[p.io_index]);
    for (const Patch& p : output_patches) views[p.view].data = output_pointers[p.io_index];
  }

  // An error while a run is in flight.
  Status check_idle() const {
    if (!in_flight) return {};
    return invalid_argument("a run of the session is in flight: call wait() first");
  }

  // A run is a begin, which returns while devices may be at work, and an end. After a begin that
  // fails nothing is in flight.
  Status begin(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options) {
    SN_RETURN_IF_ERROR(check_idle());
    SN_RETURN_IF_ERROR(check_inputs(inputs));
    SN_RETURN_IF_ERROR(bind_outputs(outputs));
    patch(inputs);
    const PoolBurst burst(impl.core->pool());
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
    return finish_outputs(outputs);
  }

  Status run_steps(const RunOptions& options, Cancellation& cancellation) {
    for (std::size_t s = 0; s < impl.steps.size(); ++s) {
      if (cancellation.requested()) return cancelled();
      const Step& step = impl.steps[s];
      StepTrace trace = {s,
                         impl.steps.size(),
                         step.layer->name.c_str(),
                         step.layer->type->name.c_str(),
                         step.routine_name.c_str(),
                         0,
                         0};
      const bool timed = static_cast<bool>(options.trace);
      if (Status status = timed ? run_timed(s, trace, cancellation) : run_one(s, cancellation);
          !status.ok())
        return guarded([&] {
          return std::move(status).with_context(fmt::format("layer '{}'", step.layer->name));
        });
      if (timed) options.trace(trace);
    }
    return {};
  }

  Status run_one(std::size_t s, Cancellation& cancellation) {
    const Step& step = impl.steps[s];
    if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
    return step.dynamic ? run_dynamic(s, cancellation) : run_step(s, cancellation);
  }

  // A step that works on its device alone is timed by the device's clock. One that also touches the
  // host takes as long as it keeps the caller, until its results are there.
  Status run_timed(std::size_t s, StepTrace& trace, Cancellation& cancellation) {
    const Step& step = impl.steps[s];
    if (step.needs_sync) SN_RETURN_IF_ERROR(synchronize());
    trace.begin_ns = clock_ns();
    if (step.device == 0 || step.layer->type->is_adapt()) {
      SN_RETURN_IF_ERROR(run_one(s, cancellation));
      if (step.device != 0) SN_RETURN_IF_ERROR(synchronize());
      trace.end_ns = clock_ns();
      return {};
    }
    Stream& stream = *accelerators[step.device].stream;
    SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> begin, stream.record());
    SN_RETURN_IF_ERROR(run_one(s, cancellation));
    SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> end, stream.record());
    SN_RETURN_IF_ERROR(stream.synchronize());
    SN_ASSIGN_OR_RETURN(const double us, stream.microseconds(*begin, *end));
    trace.end_ns = trace.begin_ns + static_cast<std::int64_t>(us * 1e3);
    return {};
  }

  // Waits for all devices; the first error of any.
  Status synchronize() {
    Status status;
    for (const Accelerator& accelerator : accelerators)
      if (accelerator.stream != nullptr)
        if (Status end = accelerator.stream->synchronize(); status.ok()) status = std::move(end);
    return status;
  }

  // The same on what is bound by name.
  Status begin_bound(const RunOptions& options) {
    SN_RETURN_IF_ERROR(check_idle());
    has_results = false;
    for (std::size_t i = 0; i < bound_inputs.size(); ++i)
      if (bound_inputs[i].empty())
        return invalid_argument("input '{}' is not set", impl.inputs[i].name);
    for (std::size_t o = 0; o < results.size(); ++o) results[o] = bound_outputs[o];
    SN_RETURN_IF_ERROR(begin(bound_inputs, results, options));
    in_flight = true;
    return {};
  }

  Status end_bound() {
    if (!in_flight)
      return invalid_argument("no run of the session is in flight: call run_async() first");
    in_flight = false;
    SN_RETURN_IF_ERROR(end(results));
    has_results = true;
    return {};
  }

  Workers workers_for(const Step& step, Cancellation& cancellation) const {
    return {impl.core->pool(), step.layer->type->cancellable ? &cancellation : nullptr};
  }

  Status run_step(std::size_t s, Cancellation& cancellation) {
    const Step& step = impl.steps[s];
    const StepViews& places = step_views[s];
    Context context({views.data() + places.inputs, step.inputs.size()},
                    {views.data() + places.outputs, step.outputs.size()},
                    base(step.device) + step.workspace_offset, workers_for(step, cancellation));
    context.set_state(places.state.get());
    if (step.device != 0)
      context.set_device(accelerators[step.device].stream.get(),
                         base() + step.host_workspace_offset);
    return step.kernel->run(context);
  }

  Status run_dynamic(std::size_t s, Cancellation& cancellation) {
    return guarded([&]() -> Status {
      const Step& step = impl.steps[s];
      DynamicState& state = dynamic_states[step_views[s].dynamic];
      const std::span<TensorView> inputs(views.data() + step_views[s].inputs, step.inputs.size());
      const std::span<TensorView> outputs(views.data() + step_views[s].outputs,
                                          step.outputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (step.inputs[i] != kNoTensor && impl.tensors[step.inputs[i]].storage == Storage::dynamic)
          inputs[i] = dynamic_views[step.inputs[i]];

      SN_RETURN_IF_ERROR(prepare_dynamic(step, state));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        outputs[i] = {};
        if (step.outputs[i] == kNoTensor) continue;
        outputs[i].type = impl.tensors[step.outputs[i]].type;
        if (step.layer->type->data_dependent_output) continue;
        outputs[i].shape = state.output_shapes[i];
        outputs[i].data = dynamic_buffers[step.outputs[i]].bytes.mutable_data();
      }
      DynamicContext context(inputs, outputs,
                             static_cast<std::byte*>(state.workspace.bytes.mutable_data()),
                             workers_for(step, cancellation), step, dynamic_buffers, *allocator);
      context.set_state(state.kernel_state.get());
      SN_RETURN_IF_ERROR(state.kernel->run(context));
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (step.outputs[i] != kNoTensor) dynamic_views[step.outputs[i]] = outputs[i];
      return {};
    });
  }

  Status prepare_dynamic(const Step& step, DynamicState& state) {
    const StepViews& places = step_views[static_cast<std::size_t>(&step - impl.steps.data())];
    const std::span<const TensorView> now(views.data() + places.inputs, step.inputs.size());
    if (same_as_before(step, now, state)) return {};

    state.prepared = false;
    std::vector<TensorSpec> specs;
    bool shareable = true;
    for (std::size_t i = 0; i < now.size(); ++i) {
      TensorSpec spec;
      spec.type = now[i].type;
      spec.shape = now[i].shape;
      if (now[i].present()) {
        const TensorId id = step.inputs[i];
        spec.constant = impl.tensors[id].storage == Storage::constant;
        if (spec.constant) {
          spec.value = impl.tensors[id].constant;
          if (!impl.graph->tensor(id).is_constant()) shareable = false;
        } else if (step.layer->type->needs_value(i)) {
          SN_ASSIGN_OR_RETURN(const Tensor value,
                              Tensor::borrow_const(spec.type, spec.shape, now[i].data,
                                                   static_cast<std::size_t>(storage_bytes(
                                                       spec.type, spec.shape, Layout::plain))));
          SN_ASSIGN_OR_RETURN(spec.value, value.clone(*allocator));
        }
        spec.quantization = impl.graph->tensor(id).quantization;
      }
      specs.push_back(std::move(spec));
    }
    state.inputs = specs;
    SN_ASSIGN_OR_RETURN(const Problem problem,
                        make_problem(impl.core->registry(), *step.layer, std::move(specs)));
    // Before the kernel, which may take memory by the same sizes.
    state.output_shapes.clear();
    for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
      const TensorSpec& spec = problem.outputs[i];
      state.output_shapes.push_back(spec.shape);
      if (!spec.present() || step.layer->type->data_dependent_output) continue;
      const std::int64_t bytes = storage_bytes(spec.type, spec.shape, Layout::plain);
      SN_RETURN_IF_ERROR(
          dynamic_buffers[step.outputs[i]].reserve(static_cast<std::size_t>(bytes), *allocator));
    }
    SN_ASSIGN_OR_RETURN(PreparedKernel prepared,
                        prepare_kernel(*impl.core, *step.layer, problem, shareable));
    state.kernel_state.reset();
    state.kernel = std::move(prepared.kernel);
    SN_ASSIGN_OR_RETURN(state.kernel_state, state.kernel->make_state());
    SN_RETURN_IF_ERROR(state.workspace.reserve(state.kernel->workspace_bytes(), *allocator));
    state.prepared = true;
    return {};
  }

  Status finish_outputs(std::span<Tensor> outputs) {
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].empty() && impl.tensors[impl.graph->outputs[o]].storage != Storage::dynamic)
        outputs[o] = own_outputs[o];
    for (const OutputCopy& copy : impl.copies) {
      const TensorView from = view_of(copy.from);
      const std::int64_t bytes = storage_bytes(from.type, from.shape, Layout::plain);
      Tensor& to = outputs[copy.output];
      if (impl.tensors[copy.from].storage == Storage::dynamic) {
        if (to.empty()) {
          SN_ASSIGN_OR_RETURN(to, Tensor::borrow(from.type, from.shape, from.data,
                                                 static_cast<std::size_t>(bytes)));
          continue;
        }
        if (to.data_type() != from.type || !(to.shape() == from.shape) ||
            (to.mutable_data() == nullptr && bytes > 0))
          return invalid_argument("output '{}' is {} {} this time, it is bound to {} {}",
                                  impl.outputs[copy.output].name, to_string(from.type),
                                  from.shape.str(), to_string(to.data_type()), to.shape().str());
      }
      // NOLINTNEXTLINE: clang-tidy thinks of kNoTensor, which is never copied from.
      if (bytes > 0) std::memcpy(to.mutable_data(), from.data, static_cast<std::size_t>(bytes));
    }
    return {};
  }

  // Where the arena of a device of the plan begins.
  std::byte* base(std::uint32_t device = 0) const {
    return static_cast<std::byte*>(device == 0 ? const_cast<void*>(arena.data())
                                               : accelerators[device].arena.data());
  }

  std::shared_ptr<const Plan> plan;
  const PlanImpl& impl;
  SessionOptions given;
  Allocator* allocator = nullptr;
  Tensor arena;
  std::vector<TensorView> views;  // all steps' inputs and outputs, one after another
  std::vector<StepViews> step_views;
  std::vector<Patch> input_patches;
  std::vector<Patch> output_patches;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
  std::vector<Tensor> own_outputs;  // views of the session's memory
  std::vector<DynamicState> dynamic_states;
  std::vector<TensorView> dynamic_views;       // per tensor; filled by dynamic steps
  std::vector<GrowingBuffer> dynamic_buffers;  // per tensor
  std::vector<Tensor> bound_inputs;            // by name; empty: not yet
  std::vector<Tensor> bound_outputs;           // empty: the session's memory
  std::vector<Tensor> results;                 // of the last run on these
  bool has_results = false;
  bool in_flight = false;  // begin_bound() without its end_bound()
  // By device of the plan; the first, the host, has none. Destroyed before all other members: the
  // work in their streams, for which these wait then, reads and writes what the others hold.
  std::vector<Accelerator> accelerators;
};

// --- the public face ---------------------------------------------------------------------------

Session::Session(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(std::shared_ptr<const Plan> plan,
                                const SessionOptions& options) noexcept {
  return guarded([&]() -> Result<Session> {
    if (plan == nullptr) return invalid_argument("a session needs a plan");
    auto impl = std::make_unique<Impl>(std::move(plan));
    SN_RETURN_IF_ERROR(impl->init(options));
    return Session(std::move(impl));
  });
}

Status Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->begin(inputs, outputs, options));
    return impl_->end(outputs);
  });
}

namespace {

Result<std::size_t> index_of(std::span<const TensorInfo> infos, std::string_view name,
                             const char* what) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  return make_error(StatusCode::not_found, "the session has no {} '{}'; its {}s are {}", what, name,
                    what, names_of(infos));
}

}  // namespace

Status Session::set_input(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t i, index_of(impl_->impl.inputs, name, "input"));
    SN_RETURN_IF_ERROR(impl_->check_input(i, tensor));
    impl_->bound_inputs[i] = tensor;
    return {};
  });
}

Status Session::set_output(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->impl.outputs, name, "output"));
    if (!tensor.empty()) SN_RETURN_IF_ERROR(impl_->check_output(o, tensor));
    impl_->bound_outputs[o] = tensor;
    return {};
  });
}

Status Session::run(const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->begin_bound(options));
    return impl_->end_bound();
  });
}

Status Session::run_async(const RunOptions& options) noexcept {
  return guarded([&] { return impl_->begin_bound(options); });
}

Status Session::wait() noexcept {
  return guarded([&] { return impl_->end_bound(); });
}

Result<Tensor> Session::output(std::string_view name) const noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->impl.outputs, name, "output"));
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
    if (plan == nullptr) return invalid_argument("a session needs a plan");
    if (plan == impl_->plan) return {};
    auto next = std::make_unique<Impl>(std::move(plan));
    SN_RETURN_IF_ERROR(next->init(impl_->given, impl_.get()));
    impl_ = std::move(next);
    return {};
  });
}

const Plan& Session::plan() const noexcept {
  return *impl_->plan;
}

std::size_t Session::dynamic_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const GrowingBuffer& buffer : impl_->dynamic_buffers) bytes += buffer.bytes.bytes();
  for (const DynamicState& state : impl_->dynamic_states) bytes += state.workspace.bytes.bytes();
  return bytes;
}

}  // namespace softneuro
