#include "core/childnet/childnet.h"

#include <algorithm>
#include <cstring>

#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/childnet/childnet_kernel.h"
#include "core/childnet/childnet_text.h"
#include "core/routine/evaluate.h"
#include "core/routine/view_adapt.h"

namespace softneuro {
namespace {

// Elements are stored in the order of the plain layout.
bool lies_as_plain(const TensorSpec& spec) {
  return is_view_adapt(spec.shape, {spec.type, spec.layout}, {spec.type, Layout::plain}, true);
}

bool all_constant(const ExpandedChildnet& expanded, const Layer& layer) {
  return std::all_of(layer.inputs.begin(), layer.inputs.end(),
                     [&](TensorId id) { return id == kNoTensor || expanded.specs[id].constant; });
}

// What is taken where nothing is named; childnets come last.
Result<ImplementationPtr> default_choice(const RoutineContext& context, const Problem& problem) {
  const auto shared = std::make_shared<const Problem>(problem);
  const auto rank = [](const Routine& routine) {
    const RoutineFacts facts = routine.facts();
    return facts.is_childnet ? -1 : facts.default_rank;
  };
  std::vector<const Routine*> routines = context.registry().routines(problem.type->name);
  std::ranges::stable_sort(routines,
                           [&](const Routine* a, const Routine* b) { return rank(*a) > rank(*b); });
  for (const Routine* routine : routines)
    if (auto made = context.implement(*routine, shared); made.ok()) return made;
  return unsupported("no routine for the inner layer '{}': {}", problem.layer_name,
                     refusals_of(context.explain(shared)));
}

Status choose(const RoutineContext& context, const std::vector<InnerChoice>& choices,
              ChildnetLayer& layer) {
  const auto named = std::find_if(choices.begin(), choices.end(), [&](const InnerChoice& choice) {
    return choice.layer == layer.problem.layer_name;
  });
  if (named == choices.end()) {
    SN_ASSIGN_OR_RETURN(layer.implementation, default_choice(context, layer.problem));
    layer.params = layer.implementation->default_params();
    return {};
  }
  const Routine* routine = context.registry().find(layer.problem.type->name, named->routine);
  if (routine == nullptr)
    return invalid_argument("there is no routine {} for the inner layer '{}'", named->routine,
                            named->layer);
  auto made = context.implement(*routine, layer.problem);
  if (!made.ok())
    return invalid_argument("{} cannot compute the inner layer '{}': {}", named->routine,
                            named->layer, made.status().message());
  layer.implementation = *std::move(made);
  SN_ASSIGN_OR_RETURN(layer.params, parse_params(*layer.implementation, named->params));
  return {};
}

// The values of folded tensors, by tensor.
Result<std::vector<Tensor>> fold(const Registry& registry, const ExpandedChildnet& expanded,
                                 Allocator& allocator) {
  std::vector<Tensor> values(expanded.graph.tensor_count());
  for (std::size_t id = 0; id < values.size(); ++id) values[id] = expanded.specs[id].value;
  for (const std::size_t index : expanded.folded) {
    const Layer& layer = expanded.graph.layers()[index];
    std::vector<Tensor> inputs;
    for (const TensorId id : layer.inputs)
      inputs.push_back(id == kNoTensor ? Tensor() : values[id]);
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                        evaluate(registry, layer, inputs, allocator));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (layer.outputs[i] != kNoTensor) values[layer.outputs[i]] = outputs[i];
  }
  return values;
}

// What pack() makes: the folded tensors that are read, then each layer's packed weights, each
// aligned.
struct PackedParts {
  std::vector<std::size_t> folded;  // bytes, for each output of each folded layer; 0: not kept
  std::vector<std::size_t> layers;  // bytes, for each layer; 0: none
  std::size_t bytes = 0;            // of all
};
Result<PackedParts> packed_parts(const ExpandedChildnet& expanded) {
  PackedParts parts;
  // Folded tensors that create() needs the values of.
  std::vector<bool> is_read(expanded.graph.tensor_count());
  for (const TensorId id : expanded.graph.outputs) is_read[id] = true;
  for (const ChildnetLayer& layer : expanded.layers) {
    Packing packing;
    if (!layer.view) {
      SN_ASSIGN_OR_RETURN(packing, layer.implementation->packing(layer.params));
    }
    parts.layers.push_back(packing.bytes);
    if (packing.replaces_constants) continue;
    for (const TensorId id : expanded.graph.layers()[layer.index].inputs)
      if (id != kNoTensor) is_read[id] = true;
  }
  for (const std::size_t index : expanded.folded)
    for (const TensorId id : expanded.graph.layers()[index].outputs) {
      std::size_t bytes = 0;
      if (id != kNoTensor && is_read[id]) {
        const TensorSpec& spec = expanded.specs[id];
        bytes = static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
      }
      parts.folded.push_back(bytes);
    }
  for (const std::vector<std::size_t>* all : {&parts.folded, &parts.layers})
    for (const std::size_t bytes : *all) parts.bytes += aligned(bytes);
  return parts;
}

// The outer input i; kNoTensor if it is left out.
TensorId add_input(ExpandedChildnet& expanded, const Problem& problem, std::size_t i) {
  const TensorSpec& spec = problem.inputs[i];
  if (!spec.present()) return kNoTensor;
  TensorDef def;
  def.name = "input" + std::to_string(i);
  def.type = spec.type;
  def.shape = DynamicShape(spec.shape);
  const TensorId id = expanded.graph.add_tensor(std::move(def));
  expanded.graph.inputs.push_back(id);
  expanded.outer_inputs.resize(id + 1, -1);
  expanded.outer_inputs[id] = static_cast<std::int32_t>(i);
  expanded.specs.resize(id + 1);
  expanded.specs[id] = spec;
  return id;
}

// `layout`: of the tensors inside that have three dimensions or more.
Status add_layer(ExpandedChildnet& expanded, std::size_t index, const Problem& problem,
                 Layout layout, const RoutineDescriptor& childnet) {
  const Layer& layer = expanded.graph.layers()[index];
  std::vector<TensorSpec> inputs;
  for (const TensorId id : layer.inputs)
    inputs.push_back(id == kNoTensor ? TensorSpec{} : expanded.specs[id]);
  const bool constant = all_constant(expanded, layer);
  ChildnetLayer inner;
  inner.index = index;
  SN_ASSIGN_OR_RETURN(inner.problem, make_problem(layer, std::move(inputs)));
  for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
    const TensorId id = layer.outputs[i];
    if (id == kNoTensor) continue;
    TensorSpec& spec = inner.problem.outputs[i];
    spec.constant = constant;
    if (!constant && is_real(spec.type) && spec.shape.rank() >= 3) spec.layout = layout;
    for (std::size_t o = 0; o < expanded.graph.outputs.size(); ++o)
      if (expanded.graph.outputs[o] == id) {
        if (!(spec.shape == problem.outputs[o].shape) || spec.type != problem.outputs[o].type)
          return internal_error("output {} of {} is {} {} inside", o, childnet.str(),
                                to_string(spec.type), spec.shape.str());
        spec.layout = problem.outputs[o].layout;
      }
    expanded.specs[id] = spec;
  }
  if (constant) {
    expanded.folded.push_back(index);
    return {};
  }
  inner.view = layer.type->is_view && layer.post_ops.empty();
  if (inner.view &&
      !(lies_as_plain(inner.problem.inputs[0]) && lies_as_plain(inner.problem.outputs[0])))
    return unsupported("the inner layer '{}' would have to move data", layer.name);
  expanded.layers.push_back(std::move(inner));
  return {};
}

}  // namespace

// --- what is inside ------------------------------------------------------------------------------

Result<std::shared_ptr<const ExpandedChildnet>> ChildnetImplementation::expand(
    const RoutineParams& params) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_ != nullptr && last_params_ == params) return last_;
  SN_ASSIGN_OR_RETURN(ExpandedChildnet expanded, expand_anew(params));
  last_ = std::make_shared<const ExpandedChildnet>(std::move(expanded));
  last_params_ = params;
  return last_;
}

Result<ExpandedChildnet> ChildnetImplementation::expand_anew(const RoutineParams& params) const {
  // A childnet asks the registry about the layers inside, which may ask childnets in turn.
  if (context().childnet_depth() >= kMaxChildnetDepth)
    return unsupported("childnets nest at most {} deep", kMaxChildnetDepth);
  const Problem& outer = problem();
  const RoutineDescriptor& descriptor = childnet_.descriptor();
  SN_ASSIGN_OR_RETURN(const auto choices, parse_inner(params.text("inner")));
  ExpandedChildnet expanded;
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < outer.layer_inputs; ++i)
    inputs.push_back(add_input(expanded, outer, i));
  SN_RETURN_IF_ERROR(childnet_.build(outer, params, expanded.graph, inputs));
  if (expanded.graph.outputs.size() != outer.outputs.size() || expanded.graph.layers().empty())
    return internal_error("{} built no net for its outputs", descriptor.str());
  if (!outer.post_ops.empty()) {
    Layer& last = expanded.graph.layers().back();
    last.post_ops = outer.post_ops;
    for (PostOp& op : last.post_ops) {
      if (op.kind != PostOp::Kind::binary) continue;
      const std::size_t outer_input = op.input;
      op.input = static_cast<std::uint32_t>(last.inputs.size());
      last.inputs.push_back(add_input(expanded, outer, outer_input));
    }
  }
  // Constants that build() added.
  expanded.outer_inputs.resize(expanded.graph.tensor_count(), -1);
  expanded.specs.resize(expanded.graph.tensor_count());
  for (TensorId id = 0; id < expanded.graph.tensor_count(); ++id)
    if (const TensorDef& def = expanded.graph.tensor(id); def.is_constant())
      expanded.specs[id] = {
          .type = def.type, .shape = def.constant.shape(), .constant = true, .value = def.constant};
  for (std::size_t i = 0; i < expanded.graph.layers().size(); ++i)
    SN_RETURN_IF_ERROR(add_layer(expanded, i, outer, childnet_.inner_layout(params), descriptor));
  for (const InnerChoice& choice : choices)
    if (std::none_of(expanded.layers.begin(), expanded.layers.end(), [&](const ChildnetLayer& l) {
          return !l.view && l.problem.layer_name == choice.layer;
        }))
      return invalid_argument("{} has no inner layer '{}'", descriptor.str(), choice.layer);
  for (ChildnetLayer& layer : expanded.layers)
    if (!layer.view) SN_RETURN_IF_ERROR(choose(context().inside_childnet(), choices, layer));
  return expanded;
}

// --- the routine ---------------------------------------------------------------------------------

Result<std::shared_ptr<Implementation>> ChildnetRoutine::make_implementation(
    ProblemPtr problem, const RoutineContext& context) const {
  return make_implementation_of<ChildnetImplementation>(std::move(problem), context, *this);
}

Applicability ChildnetImplementation::applicable() const {
  const auto inside = expand(default_params());
  return inside.ok() ? Applicability::yes()
                     : Applicability::no(std::string(inside.status().message()));
}

RoutineParams ChildnetImplementation::default_params() const {
  RoutineParams params = childnet_.outer_params(problem());
  params.set("inner", std::string());
  return params;
}

ParamSpace ChildnetImplementation::outer_space() const {
  ParamSpace space;
  space.axes = childnet_.outer_axes(problem());
  space.axes.push_back({"inner", {std::string()}});
  space.allows = [self = shared_from_this()](const Params& params) {
    return self->expand(params).ok();
  };
  return space;
}

Applicability ChildnetImplementation::check_params(const RoutineParams& params) const {
  const auto named = expand(params);
  if (!named.ok()) return Applicability::no(std::string(named.status().message()));
  if (params == default_params()) return Applicability::yes();
  RoutineParams open = params;
  open.set("inner", std::string());
  if (outer_space().contains(open)) return Applicability::yes();
  return Applicability::no("the routine does not have the parameters " + params.str());
}

ParamSpace ChildnetImplementation::param_space() const {
  ParamSpace space = outer_space();
  ParamAxis& inner = space.axes.back();
  const auto usual = expand(default_params());
  if (!usual.ok()) return space;
  for (const ChildnetLayer& layer : (*usual)->layers) {
    if (layer.view) continue;
    // Specifications (rank 0) are there to compare with.
    for (const RoutineAnswer& answer :
         context().inside_childnet().explain(std::make_shared<const Problem>(layer.problem)))
      if (answer.implementation != nullptr && answer.routine != &layer.implementation->routine() &&
          answer.routine->facts().default_rank > 0)
        inner.values.emplace_back(
            print_inner({{layer.problem.layer_name, answer.routine->descriptor().str(), {}}}));
  }
  return space;
}

Result<Packing> ChildnetImplementation::packing(const RoutineParams& params) const {
  SN_ASSIGN_OR_RETURN(const auto inside, expand(params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(*inside));
  RoutineParams outer = params;  // they decide what is folded
  outer.erase("inner");
  Packing packing{parts.bytes, outer.str()};
  for (const ChildnetLayer& layer : inside->layers) {
    if (layer.view) continue;
    const Routine& routine = layer.implementation->routine();
    const RoutineFacts facts = routine.facts();
    SN_ASSIGN_OR_RETURN(const Packing inner, layer.implementation->packing(layer.params));
    packing.key += fmt::format("|{} v{} {} {}", routine.descriptor().str(), facts.version,
                               facts.library, inner.key);
  }
  return packing;
}

Status ChildnetImplementation::pack(const RoutineParams& params, Allocator& scratch,
                                    std::byte* packed) const {
  SN_ASSIGN_OR_RETURN(const auto inside, expand(params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(*inside));
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                      fold(context().registry(), *inside, scratch));
  std::memset(packed, 0, parts.bytes);  // the gaps between the parts, too
  std::size_t next = 0;
  for (const std::size_t index : inside->folded)
    for (const TensorId id : inside->graph.layers()[index].outputs) {
      const std::size_t bytes = parts.folded[next++];
      if (bytes > 0) std::memcpy(packed, values[id].data(), bytes);
      packed += aligned(bytes);
    }
  for (std::size_t i = 0; i < inside->layers.size(); ++i) {
    if (parts.layers[i] == 0) continue;
    const ChildnetLayer& layer = inside->layers[i];
    const Layer& of = inside->graph.layers()[layer.index];
    Problem known = layer.problem;
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      if (of.inputs[k] != kNoTensor && known.inputs[k].constant)
        known.inputs[k].value = values[of.inputs[k]];
    SN_ASSIGN_OR_RETURN(
        const ImplementationPtr implementation,
        context().inside_childnet().implement(layer.implementation->routine(), std::move(known)));
    SN_RETURN_IF_ERROR(implementation->pack(layer.params, scratch, packed));
    packed += aligned(parts.layers[i]);
  }
  return {};
}

Result<std::unique_ptr<Kernel>> ChildnetImplementation::create_kernel(
    const RoutineParams& params, const PackedWeights& packed) const {
  SN_ASSIGN_OR_RETURN(const auto inside, expand(params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(*inside));
  if (packed.bytes.bytes() != parts.bytes)
    return internal_error("packed weights of {} bytes, expected {}", packed.bytes.bytes(),
                          parts.bytes);
  const auto owner = std::make_shared<const Tensor>(packed.bytes);
  const auto* from = static_cast<const std::byte*>(packed.bytes.data());
  const auto take = [&](DataType type, const Shape& shape, std::size_t bytes) {
    const std::byte* const part = from;
    from += aligned(bytes);
    return Tensor::share(type, shape, part, bytes, owner);
  };
  ExpandedChildnet known = *inside;  // with the values of folded tensors
  std::size_t next = 0;
  for (const std::size_t index : known.folded)
    for (const TensorId id : known.graph.layers()[index].outputs) {
      const std::size_t bytes = parts.folded[next++];
      if (bytes == 0) continue;
      TensorSpec& spec = known.specs[id];
      SN_ASSIGN_OR_RETURN(spec.value, take(spec.type, spec.shape, bytes));
    }
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (std::size_t i = 0; i < known.layers.size(); ++i) {
    ChildnetLayer& layer = known.layers[i];
    if (layer.view) {
      kernels.emplace_back();
      continue;
    }
    const Layer& of = known.graph.layers()[layer.index];
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      if (of.inputs[k] != kNoTensor) layer.problem.inputs[k] = known.specs[of.inputs[k]];
    PackedWeights part;
    if (const std::size_t bytes = parts.layers[i]; bytes > 0) {
      SN_ASSIGN_OR_RETURN(part.bytes,
                          take(DataType::uint8, Shape{static_cast<std::int64_t>(bytes)}, bytes));
    }
    const auto make = [&]() -> Result<std::unique_ptr<Kernel>> {
      SN_ASSIGN_OR_RETURN(
          const ImplementationPtr implementation,
          context().inside_childnet().implement(layer.implementation->routine(), layer.problem));
      return implementation->create(layer.params, part);
    };
    auto kernel = make();
    if (!kernel.ok())
      return Status(kernel.status())
          .with_context(
              fmt::format("inner layer '{}' of {}", of.name, childnet_.descriptor().str()));
    kernels.push_back(std::move(*kernel));
  }
  return make_childnet_kernel(known, std::move(kernels));
}

}  // namespace softneuro
