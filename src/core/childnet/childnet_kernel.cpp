#include "core/childnet/childnet_kernel.h"

#include <array>
#include <cstring>

#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/plan/plan_impl.h"

namespace softneuro {
namespace {

constexpr std::size_t kMaxPorts = 16;  // inputs, or outputs, of a layer inside

// One per layer inside; null where its kernel keeps nothing.
class ChildnetState final : public KernelState {
 public:
  std::vector<std::unique_ptr<KernelState>> states;
};

class ChildnetKernel final : public Kernel {
 public:
  explicit ChildnetKernel(PlanImpl plan) : plan_(std::move(plan)) {
    plan_memory(plan_);
    // The planner puts unbound outputs behind the arena: here all are bound.
    arena_bytes_ =
        plan_.output_offsets.empty() ? plan_.devices[0].arena_bytes : plan_.output_offsets[0];
  }

  std::size_t workspace_bytes() const noexcept override { return arena_bytes_; }

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto all = std::make_unique<ChildnetState>();
    bool any = false;
    for (const Step& step : plan_.steps) {
      SN_ASSIGN_OR_RETURN(auto state, step.kernel->make_state());
      any = any || state != nullptr;
      all->states.push_back(std::move(state));
    }
    if (!any) return std::unique_ptr<KernelState>();
    return std::unique_ptr<KernelState>(std::move(all));
  }

  Status run(Context& context) const noexcept override {
    const auto* const states = static_cast<const ChildnetState*>(context.state());
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      std::array<TensorView, kMaxPorts> inputs, outputs;
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        inputs[i] = view_of_tensor(context, step.inputs[i]);
      for (std::size_t i = 0; i < step.outputs.size(); ++i)
        outputs[i] = view_of_tensor(context, step.outputs[i]);
      Context inner({inputs.data(), step.inputs.size()}, {outputs.data(), step.outputs.size()},
                    context.workspace() + step.workspace_offset, context.pool());
      if (states != nullptr) inner.set_state(states->states[s].get());
      SN_RETURN_IF_ERROR(step.kernel->run(inner));
    }
    for (const OutputCopy& copy : plan_.copies)
      if (const TensorView from = view_of_tensor(context, copy.from); from.data != nullptr)
        std::memcpy(context.output(copy.output).data, from.data, plan_.tensors[copy.from].bytes);
    return {};
  }

 private:
  TensorView view_of_tensor(const Context& context, TensorId id) const noexcept {
    if (id == kNoTensor) return {};
    const PlannedTensor& planned = plan_.tensors[id];
    const PlannedTensor& root = plan_.tensors[planned.alias_of];
    TensorView view = {planned.format.type, planned.format.layout, planned.shape, nullptr};
    switch (root.storage) {
      case Storage::input:
        view.data = context.input(root.io_index).data;
        break;
      case Storage::output:
        view.data = context.output(root.io_index).data;
        break;
      case Storage::constant:
        view.data = const_cast<void*>(root.constant.data());
        break;
      case Storage::arena:
        view.data = context.workspace() + root.offset;
        break;
      default:
        break;
    }
    return view;
  }

  PlanImpl plan_;
  std::size_t arena_bytes_ = 0;
};

PlannedTensor planned_tensor_of(const TensorSpec& spec, std::int32_t outer_input) {
  PlannedTensor planned;
  planned.type = spec.type;
  planned.format = format_of(spec);
  planned.shape = spec.shape;
  planned.bytes = static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
  if (outer_input >= 0) {
    planned.storage = Storage::input;
    planned.io_index = static_cast<std::uint32_t>(outer_input);
  } else if (spec.constant || !spec.value.empty()) {  // without a value: it is never read
    planned.storage = Storage::constant;
    planned.constant = spec.value;
  }
  return planned;
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_childnet_kernel(
    const ExpandedChildnet& expanded, std::vector<std::shared_ptr<const Kernel>> kernels) {
  PlanImpl plan;
  plan.graph = std::make_shared<const Graph>(expanded.graph);
  for (TensorId id = 0; id < expanded.specs.size(); ++id)
    plan.tensors.push_back(planned_tensor_of(expanded.specs[id], expanded.outer_inputs[id]));
  for (std::size_t i = 0; i < expanded.layers.size(); ++i) {
    const Layer& layer = expanded.graph.layers()[expanded.layers[i].index];
    if (layer.inputs.size() > kMaxPorts || layer.outputs.size() > kMaxPorts)
      return unsupported("'{}' has more than {} inputs or outputs", layer.name, kMaxPorts);
    Step step;
    step.layer = &plan.graph->layers()[expanded.layers[i].index];
    step.kernel = std::move(kernels[i]);
    step.view = expanded.layers[i].view;
    step.inputs = layer.inputs;
    step.outputs = layer.outputs;
    for (const TensorId id : layer.outputs)
      if (id != kNoTensor) plan.tensors[id].storage = Storage::arena;
    plan.steps.push_back(std::move(step));
  }
  return make_kernel<ChildnetKernel>(std::move(plan));
}

}  // namespace softneuro
