// Graph + concrete input shapes → steps with kernels. What can be known before running is computed
// here (shape arithmetic); what depends on data becomes a data-dependent step.
#include <cstdint>
#include <numeric>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/plan/plan_impl.h"
#include "core/plan/segments.h"
#include "core/routine/evaluate.h"
#include "core/routine/view_adapt.h"

namespace softneuro {
namespace {

// Results computed while planning are kept up to this size; larger ones are steps like any other.
constexpr std::int64_t kFoldLimit = std::int64_t{1} << 20;

alignas(kTensorAlignment) const unsigned char kNoBytes[kTensorAlignment] = {};

// For each layer, whether some output depends on it.
std::vector<bool> needed_layers(const Graph& graph) {
  std::vector<bool> needed(graph.layers().size());
  const std::vector<std::int32_t> producers = graph.producers();
  std::vector<TensorId> open = graph.outputs;
  while (!open.empty()) {
    const std::int32_t producer = producers[open.back()];
    open.pop_back();
    if (producer < 0 || needed[static_cast<std::size_t>(producer)]) continue;
    needed[static_cast<std::size_t>(producer)] = true;
    for (const TensorId input : graph.layers()[static_cast<std::size_t>(producer)].inputs)
      if (input != kNoTensor) open.push_back(input);
  }
  return needed;
}

// An adapt that changes no byte.
bool is_view_adapt(const Layer& layer, const Problem& problem) {
  if (!layer.type->is_adapt()) return false;
  const TensorSpec& from = problem.inputs[0];
  const TensorSpec& to = problem.outputs[0];
  // Both sides are the same tensor of the model, with one quantisation.
  return is_view_adapt(from.shape, format_of(from), format_of(to), true);
}

// Null if the plan has none.
const Choice* choice_of(const PlanImpl& plan, const Layer& layer) {
  const auto found = plan.choices.find(layer.id);
  return found == plan.choices.end() ? nullptr : &found->second;
}

// Its constants are those of the graph, not computed for this plan only.
bool has_graph_constants(const PlanImpl& plan, const Layer& layer) {
  for (const TensorId id : layer.inputs)
    if (id != kNoTensor && plan.tensors[id].storage == Storage::constant &&
        !plan.graph->tensor(id).is_constant())
      return false;
  return true;
}

// What the step takes is what its producers made. If not, the choices are wrong.
Status check_formats(const PlanImpl& plan, const Layer& layer, const Problem& problem) {
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const TensorId id = layer.inputs[i];
    if (id == kNoTensor) continue;
    const Format wanted = format_of(problem.inputs[i]);
    if (!(plan.tensors[id].format == wanted))
      return internal_error("layer '{}': input {} is {}, but its routine wants {}", layer.name, i,
                            plan.tensors[id].format.str(), wanted.str());
  }
  return {};
}

// Bytes of the host's arena that are in use at once before a step, and the step.
struct Alive {
  std::size_t bytes = 0;
  const Step* step = nullptr;
};

// Of the step before which the most is alive. Results of the step itself do not count: they may
// take the place of what it reads.
Alive most_alive(const PlanImpl& plan) {
  std::vector<TensorId> root(plan.tensors.size());  // whose bytes a view shares
  std::iota(root.begin(), root.end(), TensorId{0});
  std::vector<bool> made(plan.tensors.size());
  std::vector<std::size_t> last_use(plan.tensors.size());
  std::vector<bool> is_output(plan.tensors.size());
  for (const TensorId id : plan.graph->outputs) is_output[id] = true;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (const TensorId id : step.inputs)
      if (id != kNoTensor) last_use[root[id]] = s;
    for (const TensorId id : step.outputs) {
      if (id == kNoTensor) continue;
      if (step.view) root[id] = root[step.inputs[0]];
      made[id] =
          !step.view && !step.data_dependent && plan.tensors[id].device == 0 && !is_output[id];
    }
  }
  Alive most;
  std::size_t alive = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (alive > most.bytes) most = {alive, &step};
    for (const TensorId id : step.inputs) {
      if (id == kNoTensor || !made[root[id]] || last_use[root[id]] != s) continue;
      alive -= plan.tensors[root[id]].bytes;
      made[root[id]] = false;  // read twice by one step
    }
    for (const TensorId id : step.outputs)
      if (id != kNoTensor && made[id] && last_use[id] > s) alive += plan.tensors[id].bytes;
  }
  return most;
}

// No session takes less than the largest tensor that a layer makes, nor than what is alive at once.
// Where there is no memory for that, the plan is refused before kernels take theirs, some of it by
// the same sizes. Of the host's only: devices say at once what they do not have.
Status ask_for_memory(const PlanImpl& plan) {
  constexpr std::size_t kWorthAsking = std::size_t{64} << 20;  // bytes
  const auto is_there = [&](std::size_t bytes) {
    if (bytes < kWorthAsking) return true;
    Allocator& allocator = plan.runtime->allocator();
    void* const given = allocator.allocate(bytes, kTensorAlignment);
    if (given != nullptr) allocator.deallocate(given, bytes);
    return given != nullptr;
  };
  const PlannedTensor* largest = nullptr;
  for (const Step& step : plan.steps) {
    if (step.view || step.data_dependent) continue;
    for (const TensorId id : step.outputs)
      if (id != kNoTensor && plan.tensors[id].device == 0 &&
          (largest == nullptr || plan.tensors[id].bytes > largest->bytes))
        largest = &plan.tensors[id];
  }
  if (largest != nullptr && !is_there(largest->bytes)) {
    const auto id = static_cast<TensorId>(largest - plan.tensors.data());
    return make_error(StatusCode::out_of_memory,
                      "no memory for the tensor '{}' of {} bytes ({} {}): give the net smaller "
                      "inputs, or its allocator more memory",
                      plan.graph->tensor(id).name, largest->bytes, to_string(largest->type),
                      largest->shape.str());
  }
  if (const Alive most = most_alive(plan); !is_there(most.bytes))
    return make_error(StatusCode::out_of_memory,
                      "no memory for the {} bytes that are needed at once before layer '{}': give "
                      "the net smaller inputs, or its allocator more memory",
                      most.bytes, most.step->layer->name);
  return {};
}

Status set_outputs(PlanImpl& plan) {
  for (const TensorId id : plan.graph->outputs) {
    const TensorDef& def = plan.graph->tensor(id);
    const PlannedTensor& planned = plan.tensors[id];
    if (planned.storage == Storage::none)
      return invalid_model("output '{}' is computed by no layer", def.name);
    TensorInfo info{def.name, planned.type, def.shape};
    if (planned.storage != Storage::data_dependent) info.shape = planned.shape;
    plan.outputs.push_back(std::move(info));
  }
  return {};
}

// What is copied after the last step is copied by the host.
Status check_copies(const PlanImpl& plan) {
  for (const OutputCopy& copy : plan.copies)
    if (plan.tensors[copy.from].device != 0 ||
        !plan.graph->tensor(plan.graph->outputs[copy.output]).device.is_host())
      return unsupported(
          "output '{}' cannot be on a device: it is an input, a constant, the same bytes as "
          "another "
          "output, or of a shape that depends on data; leave it on the host",
          plan.outputs[copy.output].name);
  return {};
}

// What a device writes to the host is there once its stream is synchronised.
void set_waits(PlanImpl& plan) {
  if (plan.devices.size() == 1) return;
  std::vector<bool> pending(plan.tensors.size());
  for (Step& step : plan.steps) {
    for (const TensorId id : step.inputs)
      step.needs_sync = step.needs_sync || (id != kNoTensor && pending[plan.tensors[id].alias_of]);
    if (step.needs_sync) pending.assign(pending.size(), false);
    if (step.device == 0) continue;
    for (const TensorId id : step.outputs)
      if (id != kNoTensor && plan.tensors[id].device == 0)
        pending[plan.tensors[id].alias_of] = true;
  }
}

class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Graph> graph, Choices choices,
              const std::atomic<bool>* cancel, Implementations made = {})
      : plan_(std::make_unique<PlanImpl>()),
        graph_(*graph),
        cancel_(cancel),
        made_(std::move(made)) {
    plan_->runtime = std::move(runtime);
    plan_->graph = std::move(graph);
    plan_->choices = std::move(choices);
    plan_->tensors.resize(graph_.tensor_count());
  }

  Result<std::shared_ptr<const Plan>> build(std::span<const Shape> input_shapes) {
    SN_RETURN_IF_ERROR(make_steps(input_shapes));
    SN_RETURN_IF_ERROR(ask_for_memory(*plan_));
    SN_RETURN_IF_ERROR(prepare_kernels());
    SN_RETURN_IF_ERROR(set_outputs(*plan_));
    plan_memory(*plan_);
    SN_RETURN_IF_ERROR(check_copies(*plan_));
    set_waits(*plan_);
    set_segments(*plan_);
    return PlanAccess::make(std::move(plan_));
  }

  // Problems are posed in the model's formats, on the host, wherever the caller has the inputs.
  Result<std::unique_ptr<PlanImpl>> infer(std::span<const Shape> input_shapes) {
    infers_ = true;
    SN_RETURN_IF_ERROR(make_steps(input_shapes));
    return std::move(plan_);
  }

 private:
  // A step that has no kernel yet.
  struct Unprepared {
    std::size_t step;
    Problem problem;
    ImplementationPtr made;  // null: not yet
  };

  Status make_steps(std::span<const Shape> input_shapes) {
    SN_RETURN_IF_ERROR(set_inputs(input_shapes));
    set_constants();
    const std::vector<bool> needed = needed_layers(graph_);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      SN_RETURN_IF_ERROR(check_cancelled(cancel_));
      SN_RETURN_IF_ERROR(add_layer(graph_.layers()[i]));
    }
    return {};
  }

  Status set_inputs(std::span<const Shape> shapes) {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const TensorId id = graph_.inputs[i];
      const TensorDef& def = graph_.tensor(id);
      PlannedTensor& planned = plan_->tensors[id];
      planned.storage = Storage::input;
      planned.io_index = static_cast<std::uint32_t>(i);
      planned.type = def.type;
      const DeviceId device = infers_ ? DeviceId() : def.device;
      planned.format = {def.type, Layout::plain, device};
      SN_ASSIGN_OR_RETURN(planned.device,
                          device_of(device, [&] { return fmt::format("input '{}'", def.name); }));
      planned.shape = shapes[i];
      const std::int64_t bytes = storage_bytes(def.type, shapes[i], Layout::plain);
      if (bytes < 0)
        return invalid_argument("input '{}': shape {} does not fit in memory", def.name,
                                shapes[i].str());
      planned.bytes = static_cast<std::size_t>(bytes);
      plan_->inputs.push_back({def.name, def.type, shapes[i]});
    }
    return {};
  }

  void set_constants() {
    for (TensorId id = 0; id < graph_.tensor_count(); ++id)
      if (const Tensor& constant = graph_.tensor(id).constant; !constant.empty()) {
        set_known(id, constant);
        if (!graph_.tensor(id).left_out) plan_->weight_bytes += constant.bytes();
      }
  }

  void set_known(TensorId id, const Tensor& value) {
    PlannedTensor& planned = plan_->tensors[id];
    planned.storage = Storage::constant;
    planned.type = value.data_type();
    planned.format = {value.data_type(), Layout::plain};
    planned.shape = value.shape();
    planned.bytes = value.bytes();
    planned.constant = value;
  }

  // Its value is in PlannedTensor::constant.
  bool is_known(TensorId id) const { return plan_->tensors[id].storage == Storage::constant; }

  bool is_data_dependent(const Layer& layer) const {
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      if (layer.inputs[i] != kNoTensor && layer.type->needs_value(i) && !is_known(layer.inputs[i]))
        return true;
    return layer.type->data_dependent_output || has_data_dependent_input(layer);
  }

  bool all_known(const Layer& layer) const {
    for (const TensorId id : layer.inputs)
      if (id != kNoTensor && !is_known(id)) return false;
    return true;
  }

  Status add_layer(const Layer& layer) {
    if (!layer.subgraphs.empty())
      return unsupported("layer '{}': control flow ({}) cannot be run", layer.name,
                         layer.type->name);
    const bool shapes_suffice = layer.type->reads_shape_only && !has_data_dependent_input(layer);
    if (shapes_suffice || all_known(layer)) {
      SN_ASSIGN_OR_RETURN(const bool folded, fold(layer));
      if (folded) return {};
    }
    if (!is_data_dependent(layer)) return add_step(layer);
    add_data_dependent_step(layer);
    return {};
  }

  bool has_data_dependent_input(const Layer& layer) const {
    for (const TensorId id : layer.inputs)
      if (id != kNoTensor && plan_->tensors[id].storage == Storage::data_dependent) return true;
    return false;
  }

  // Computes the layer now; false if that would take too long, or the result be too large to keep.
  Result<bool> fold(const Layer& layer) {
    std::vector<Tensor> inputs;
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor) {
        inputs.emplace_back();
      } else if (graph_.tensor(id).left_out) {
        return unsupported(
            "layer '{}': the file was saved with SaveOptions::packed_only (tune --packed only) and "
            "has no weights for this routine: load a file that was saved without it",
            layer.name);
      } else if (is_known(id)) {
        inputs.push_back(plan_->tensors[id].constant);
      } else {  // a layer that reads the shape only: the bytes do not exist yet
        const PlannedTensor& planned = plan_->tensors[id];
        SN_ASSIGN_OR_RETURN(Tensor shape_only, Tensor::borrow_const(planned.type, planned.shape,
                                                                    kNoBytes, planned.bytes));
        inputs.push_back(std::move(shape_only));
      }
    }
    auto outputs = evaluate(plan_->runtime->registry(), layer, inputs, plan_->runtime->allocator(),
                            {kFoldLimit, kMaxFoldedSteps});
    if (!outputs.ok()) {
      if (outputs.status().code() == StatusCode::out_of_memory) return false;
      return outputs.status();
    }
    for (std::size_t i = 0; i < layer.outputs.size(); ++i)
      if (layer.outputs[i] != kNoTensor) set_known(layer.outputs[i], (*outputs)[i]);
    return true;
  }

  void add_data_dependent_step(const Layer& layer) {
    Step step;
    step.layer = &layer;
    step.routine_name = "chosen at run time";
    step.inputs = layer.inputs;
    step.outputs = layer.outputs;
    step.data_dependent = true;
    for (const TensorId id : layer.outputs) {
      if (id == kNoTensor) continue;
      plan_->tensors[id].storage = Storage::data_dependent;
      plan_->tensors[id].type = graph_.tensor(id).type;
      plan_->tensors[id].format = {graph_.tensor(id).type, Layout::plain};
    }
    plan_->steps.push_back(std::move(step));
  }

  Status add_step(const Layer& layer) {
    SN_ASSIGN_OR_RETURN(Problem problem, problem_of(*plan_, layer));
    SN_RETURN_IF_ERROR(check_formats(*plan_, layer, problem));
    Step step;
    step.layer = &layer;
    step.inputs = layer.inputs;
    step.outputs = layer.outputs;
    step.view = layer.type->is_view || is_view_adapt(layer, problem);
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      if (layer.outputs[i] == kNoTensor) continue;
      PlannedTensor& planned = plan_->tensors[layer.outputs[i]];
      const TensorSpec& spec = problem.outputs[i];
      planned.storage = Storage::arena;
      planned.type = graph_.tensor(layer.outputs[i]).type;
      if (planned.type == DataType::undefined || !is_real(spec.type)) planned.type = spec.type;
      planned.format = format_of(spec);
      SN_ASSIGN_OR_RETURN(planned.device, device_of(spec.device, [&] {
                            return fmt::format("layer '{}'", layer.name);
                          }));
      planned.shape = spec.shape;
      planned.bytes = static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
    }
    if (!step.view)
      unprepared_.push_back({plan_->steps.size(), std::move(problem), take_made(layer.id)});
    plan_->steps.push_back(std::move(step));
    return {};
  }

  ImplementationPtr take_made(LayerId id) {
    const auto found = made_.find(id);
    return found == made_.end() ? nullptr : std::move(found->second);
  }

  // Its index in the plan. `who` says for whom, in messages.
  template <class Who>
  Result<std::uint32_t> device_of(DeviceId id, Who&& who) {
    std::vector<PlannedDevice>& devices = plan_->devices;
    for (std::uint32_t d = 0; d < devices.size(); ++d)
      if (devices[d].id == id) return d;
    const Result<Device*> device = plan_->runtime->registry().started_device(id);
    if (!device.ok())
      return make_error(StatusCode::not_found, "{}: {} (softneuro doctor shows more)", who(),
                        device.status().message());
    devices.push_back({.id = id, .device = *device});
    return static_cast<std::uint32_t>(devices.size() - 1);
  }

  // Packing weights and making code takes most of the time that a plan takes: all threads share it.
  // Not those of the caller, who lent them for running layers; nor with an allocator of the
  // caller's, which might take memory back in order only: what it has to hold must not depend on
  // who comes first.
  Status prepare_kernels() {
    if (!plan_->runtime->uses_default_resources()) {
      for (Unprepared& unprepared : unprepared_) SN_RETURN_IF_ERROR(prepare_step(unprepared));
      return {};
    }
    std::vector<Status> outcomes(unprepared_.size());
    parallel_for(plan_->runtime->pool(), static_cast<std::int64_t>(unprepared_.size()),
                 [&](std::int64_t i) {
                   const auto at = static_cast<std::size_t>(i);
                   outcomes[at] = guarded([&] { return prepare_step(unprepared_[at]); });
                 });
    for (Status& outcome : outcomes) SN_RETURN_IF_ERROR(std::move(outcome));
    return {};
  }

  Status prepare_step(Unprepared& unprepared) {
    SN_RETURN_IF_ERROR(check_cancelled(cancel_));
    Step& step = plan_->steps[unprepared.step];
    SN_ASSIGN_OR_RETURN(static_cast<PreparedKernel&>(step),
                        prepare_kernel(*plan_, *step.layer, std::move(unprepared.problem),
                                       choice_of(*plan_, *step.layer), std::move(unprepared.made)));
    step.routine_name = step.routine->descriptor().str();
    const DeviceId device = step.routine->descriptor().device;
    for (std::uint32_t d = 0; d < plan_->devices.size(); ++d)
      if (plan_->devices[d].id == device) step.device = d;
    return {};
  }

  std::unique_ptr<PlanImpl> plan_;
  const Graph& graph_;
  const std::atomic<bool>* cancel_;
  bool infers_ = false;
  Implementations made_;
  std::vector<Unprepared> unprepared_;
};

}  // namespace

Result<Problem> problem_of(const PlanImpl& plan, const Layer& layer) {
  std::vector<TensorSpec> specs;
  for (const TensorId id : layer.inputs) {
    TensorSpec spec;
    if (id != kNoTensor) {
      const PlannedTensor& planned = plan.tensors[id];
      if (planned.storage == Storage::data_dependent)
        return unsupported("layer '{}': the shape of '{}' depends on data", layer.name,
                           plan.graph->tensor(id).name);
      spec.type = planned.type;
      spec.shape = planned.shape;
      spec.constant = !planned.constant.empty();
      spec.value = planned.constant;
      spec.quantization = plan.graph->tensor(id).quantization;
    }
    specs.push_back(std::move(spec));
  }
  SN_ASSIGN_OR_RETURN(Problem problem, make_problem(layer, std::move(specs)));
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor)
      problem.outputs[i].quantization = plan.graph->tensor(layer.outputs[i]).quantization;
  const Choice* const choice = choice_of(plan, layer);
  if (choice == nullptr) return problem;
  if (choice->formats.inputs.size() != problem.inputs.size() ||
      choice->formats.outputs.size() != problem.outputs.size())
    return internal_error("layer '{}': the choice has formats for other inputs or outputs",
                          layer.name);
  return with_formats(problem, choice->formats);
}

namespace {

// As the choice says. Null where it names no routine, or an adapt does not apply: choices of layers
// were checked before, but adapts are not part of the model, and a file may say anything of them.
Result<ImplementationPtr> implement_chosen(const Runtime& runtime, const Layer& layer,
                                           const ProblemPtr& problem, const Choice* choice) {
  if (choice == nullptr || choice->routine.empty()) return ImplementationPtr();
  const Routine* routine = runtime.registry().find(layer.type->name, choice->routine);
  if (routine == nullptr)
    return make_error(StatusCode::not_found, "layer '{}': there is no routine {} of {}", layer.name,
                      choice->routine, layer.type->name);
  auto made = runtime.routine_context().implement(*routine, problem);
  if (made.ok()) return made;
  if (layer.type->is_adapt()) return ImplementationPtr();
  return Status(made.status())
      .with_context(fmt::format("layer '{}', routine {}", layer.name, choice->routine));
}

}  // namespace

namespace {

Result<PreparedKernel> make_kernel(const PlanImpl& plan, const Layer& layer,
                                   const Implementation& implementation,
                                   const RoutineParams& params) {
  PreparedKernel prepared;
  prepared.routine = &implementation.routine();
  prepared.params = params;
  const auto context = [&] {
    return fmt::format("layer '{}', routine {}", layer.name, prepared.routine->descriptor().str());
  };
  auto packed = plan.runtime->packed_weights().get(layer, implementation, params,
                                                   has_graph_constants(plan, layer));
  if (!packed.ok()) return Status(packed.status()).with_context(context());
  auto kernel = implementation.create(params, *packed);
  if (!kernel.ok()) return Status(kernel.status()).with_context(context());
  prepared.kernel = std::move(*kernel);
  prepared.packed = packed->place();
  return prepared;
}

// A library of a device may refuse on one machine what it made on another: the layer stays on its
// device, by another routine that takes the same formats. `failed`: why the chosen one is not made.
Result<PreparedKernel> make_other_kernel(const PlanImpl& plan, const Layer& layer,
                                         const Implementation& chosen, const ProblemPtr& problem,
                                         Status failed) {
  const bool may_other_do =
      failed.code() == StatusCode::unsupported || failed.code() == StatusCode::device_failed;
  if (chosen.routine().descriptor().device.is_host() || !may_other_do) return failed;
  for (const ImplementationPtr& other :
       plan.runtime->routine_context().instead_of(chosen.routine(), problem)) {
    auto prepared = make_kernel(plan, layer, *other, other->default_params());
    if (!prepared.ok()) continue;
    plan.runtime->log(LogLevel::warning, fmt::format("{}: {} is used instead", failed.message(),
                                                     other->routine().descriptor().str()));
    return prepared;
  }
  return failed;
}

}  // namespace

Result<PreparedKernel> prepare_kernel(const PlanImpl& plan, const Layer& layer, Problem problem,
                                      const Choice* choice, ImplementationPtr made) {
  Runtime& runtime = *plan.runtime;
  const auto shared = std::make_shared<const Problem>(std::move(problem));
  ImplementationPtr implementation = std::move(made);
  if (implementation == nullptr) {
    SN_ASSIGN_OR_RETURN(implementation, implement_chosen(runtime, layer, shared, choice));
  }
  RoutineParams params;
  if (implementation != nullptr) {
    params = choice->params;
  } else {
    SN_ASSIGN_OR_RETURN(implementation,
                        runtime.routine_context().default_choice(shared, runtime.schemas()));
    params = implementation->default_params();
  }
  auto prepared = make_kernel(plan, layer, *implementation, params);
  if (prepared.ok()) return prepared;
  return make_other_kernel(plan, layer, *implementation, shared, prepared.status());
}

Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> runtime,
                                               std::shared_ptr<const Graph> graph,
                                               std::span<const Shape> input_shapes, Choices choices,
                                               const std::atomic<bool>* cancel,
                                               Implementations made) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    return PlanBuilder(std::move(runtime), std::move(graph), std::move(choices), cancel,
                       std::move(made))
        .build(input_shapes);
  });
}

Result<std::unique_ptr<PlanImpl>> infer_plan(std::shared_ptr<Runtime> runtime,
                                             std::shared_ptr<const Graph> graph,
                                             std::span<const Shape> input_shapes,
                                             const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::unique_ptr<PlanImpl>> {
    return PlanBuilder(std::move(runtime), std::move(graph), {}, cancel).infer(input_shapes);
  });
}

}  // namespace softneuro
