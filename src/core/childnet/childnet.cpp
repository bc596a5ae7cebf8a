#include "core/childnet/childnet.h"

#include <algorithm>
#include <cstring>

#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/childnet/childnet_kernel.h"
#include "core/childnet/childnet_text.h"
#include "core/routine/evaluate.h"
#include "core/routine/format.h"

namespace softneuro {
namespace {

// Elements lie in the order of the plain layout.
bool lies_as_plain(const TensorSpec& spec) {
  if (spec.layout == Layout::plain || spec.shape.rank() < 2) return true;
  const std::int64_t spatial = spec.shape.elements(2, spec.shape.rank());
  const bool whole = spec.shape[1] % block_of(spec.layout) == 0;
  return (spatial == 1 && whole) || (spec.layout == Layout::channels_last && spec.shape[1] == 1);
}

bool all_constant(const ExpandedChildnet& expanded, const Layer& layer) {
  return std::all_of(layer.inputs.begin(), layer.inputs.end(),
                     [&](TensorId id) { return id == kNoTensor || expanded.specs[id].constant; });
}

// The routine that is taken where nothing is named; childnets come last.
Result<const Routine*> default_routine(const Registry& registry, const Problem& problem) {
  const std::vector<Registry::RoutineCheck> candidates = registry.explain(problem);
  const auto rank = [](const Routine& r) {
    return r.as_childnet() != nullptr ? -1 : r.default_rank();
  };
  const Routine* best = nullptr;
  for (const auto& [routine, applicability] : candidates)
    if (applicability && (best == nullptr || rank(*routine) > rank(*best))) best = routine;
  if (best != nullptr) return best;
  return unsupported("no routine for the inner layer '{}': {}", problem.layer_name,
                     refusals_of(candidates));
}

Problem base_of(const ChildnetLayer& layer) {
  return base_problem(*layer.routine, layer.problem);
}

Status choose(const Registry& registry, const std::vector<InnerChoice>& choices,
              ChildnetLayer& layer) {
  const auto named = std::find_if(choices.begin(), choices.end(), [&](const InnerChoice& choice) {
    return choice.layer == layer.problem.layer_name;
  });
  if (named == choices.end()) {
    SN_ASSIGN_OR_RETURN(layer.routine, default_routine(registry, layer.problem));
    layer.params = layer.routine->default_params(layer.problem);
    return {};
  }
  for (const Registry::RoutineCheck& candidate : registry.explain(layer.problem)) {
    if (candidate.routine->descriptor().str() != named->routine) continue;
    if (!candidate.applicability)
      return invalid_argument("{} cannot compute the inner layer '{}': {}", named->routine,
                              named->layer, candidate.applicability.reason());
    layer.routine = candidate.routine;
    SN_ASSIGN_OR_RETURN(layer.params, parse_params(*layer.routine, layer.problem, named->params));
    if (const ChildnetRoutine* nested = layer.routine->as_childnet())
      return nested->expand(base_of(layer), layer.params).status();
    return {};
  }
  return invalid_argument("there is no routine {} for the inner layer '{}'", named->routine,
                          named->layer);
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

// Whether create() needs the value of a folded tensor.
bool is_read(const ExpandedChildnet& expanded, TensorId id) {
  const auto& outputs = expanded.graph.outputs;
  if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) return true;
  for (const ChildnetLayer& layer : expanded.layers) {
    const auto& inputs = expanded.graph.layers()[layer.index].inputs;
    if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
    if (layer.view || layer.routine->reads_constants(base_of(layer))) return true;
  }
  return false;
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
  for (const std::size_t index : expanded.folded)
    for (const TensorId id : expanded.graph.layers()[index].outputs) {
      std::size_t bytes = 0;
      if (id != kNoTensor && is_read(expanded, id)) {
        const TensorSpec& spec = expanded.specs[id];
        bytes = static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
      }
      parts.folded.push_back(bytes);
      parts.bytes += aligned(bytes);
    }
  for (const ChildnetLayer& layer : expanded.layers) {
    std::size_t bytes = 0;
    if (!layer.view) {
      SN_ASSIGN_OR_RETURN(bytes, layer.routine->packed_bytes(base_of(layer), layer.params));
    }
    parts.layers.push_back(bytes);
    parts.bytes += aligned(bytes);
  }
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
  SN_ASSIGN_OR_RETURN(inner.problem, make_problem(*problem.registry, layer, std::move(inputs)));
  inner.problem.threads = problem.threads;
  inner.problem.childnet_depth = problem.childnet_depth + 1;
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

Result<ExpandedChildnet> ChildnetRoutine::expand(const Problem& problem,
                                                 const RoutineParams& params) const {
  if (problem.registry == nullptr)
    return unsupported("there is no registry to take inner routines from");
  // A childnet asks the registry about the layers inside, which may ask childnets in turn.
  if (problem.childnet_depth >= kMaxChildnetDepth)
    return unsupported("childnets nest at most {} deep", kMaxChildnetDepth);
  SN_ASSIGN_OR_RETURN(const auto choices, parse_inner(params.text("inner")));
  ExpandedChildnet expanded;
  std::vector<TensorId> own;
  for (std::size_t i = 0; i < problem.own_inputs; ++i)
    own.push_back(add_input(expanded, problem, i));
  SN_RETURN_IF_ERROR(build(problem, params, expanded.graph, own));
  if (expanded.graph.outputs.size() != problem.outputs.size() || expanded.graph.layers().empty())
    return internal_error("{} built no net for its outputs", descriptor().str());
  if (!problem.post_ops.empty()) {
    Layer& last = expanded.graph.layers().back();
    last.post_ops = problem.post_ops;
    for (PostOp& op : last.post_ops) {
      if (op.kind != PostOp::Kind::binary) continue;
      const std::size_t outer_input = op.input;
      op.input = static_cast<std::uint32_t>(last.inputs.size());
      last.inputs.push_back(add_input(expanded, problem, outer_input));
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
    SN_RETURN_IF_ERROR(add_layer(expanded, i, problem, inner_layout(params), descriptor()));
  for (const InnerChoice& choice : choices)
    if (std::none_of(expanded.layers.begin(), expanded.layers.end(), [&](const ChildnetLayer& l) {
          return !l.view && l.problem.layer_name == choice.layer;
        }))
      return invalid_argument("{} has no inner layer '{}'", descriptor().str(), choice.layer);
  for (ChildnetLayer& layer : expanded.layers)
    if (!layer.view) SN_RETURN_IF_ERROR(choose(*problem.registry, choices, layer));
  return expanded;
}

std::string ChildnetRoutine::inner_text(const ExpandedChildnet& expanded) {
  std::vector<InnerChoice> choices;
  for (const ChildnetLayer& layer : expanded.layers)
    if (!layer.view)
      choices.push_back({layer.problem.layer_name, layer.routine->descriptor().str(),
                         print_params(layer.params)});
  return print_inner(choices);
}

// --- the routine ---------------------------------------------------------------------------------

Applicability ChildnetRoutine::applicable(const Problem& problem) const {
  if (Applicability own = fits(problem); !own) return own;
  const auto inside = expand(problem, default_params(problem));
  return inside.ok() ? Applicability::yes()
                     : Applicability::no(std::string(inside.status().message()));
}

bool ChildnetRoutine::supports_post_ops(const Problem& problem) const {
  return carries_post_ops() && fits(problem).ok() && expand(problem, default_params(problem)).ok();
}

RoutineParams ChildnetRoutine::default_params(const Problem& problem) const {
  RoutineParams params = own_params(problem);
  params.set("inner", std::string());
  return params;
}

ParamSpace ChildnetRoutine::outer_space(const Problem& problem) const {
  ParamSpace space;
  space.axes = own_axes(problem);
  space.axes.push_back({"inner", {std::string()}});
  space.allows = [this, problem](const Params& params) { return expand(problem, params).ok(); };
  return space;
}

Applicability ChildnetRoutine::check_params(const Problem& problem,
                                            const RoutineParams& params) const {
  if (params == default_params(problem)) return Applicability::yes();
  const auto named = expand(problem, params);
  if (!named.ok()) return Applicability::no(std::string(named.status().message()));
  RoutineParams open = params;
  open.set("inner", std::string());
  if (outer_space(problem).contains(open)) return Applicability::yes();
  return Applicability::no("the routine does not have the parameters " + params.str());
}

ParamSpace ChildnetRoutine::param_space(const Problem& problem) const {
  ParamSpace space = outer_space(problem);
  // One layer at a time is given another routine, for tests; a tuner names whole paths instead, and
  // check_params() takes them. Specifications (rank 0) are there to compare with.
  ParamAxis& inner = space.axes.back();
  const auto usual = expand(problem, default_params(problem));
  if (usual.ok())
    for (const ChildnetLayer& layer : usual->layers) {
      if (layer.view) continue;
      for (const Registry::RoutineCheck& candidate : problem.registry->explain(layer.problem))
        if (candidate.applicability && candidate.routine != layer.routine &&
            candidate.routine->default_rank() > 0)
          inner.values.emplace_back(
              print_inner({{layer.problem.layer_name, candidate.routine->descriptor().str(), {}}}));
    }
  return space;
}

std::string ChildnetRoutine::pack_key(const Problem& problem, const RoutineParams& params) const {
  const auto inside = expand(problem, params);
  if (!inside.ok()) return {};
  RoutineParams own = params;  // they decide what is folded
  own.erase("inner");
  std::string key = own.str();
  for (const ChildnetLayer& layer : inside->layers)
    if (!layer.view)
      key += fmt::format("|{} v{} {} {}", layer.routine->descriptor().str(),
                         layer.routine->version(), layer.routine->library(),
                         layer.routine->pack_key(base_of(layer), layer.params));
  return key;
}

Result<std::size_t> ChildnetRoutine::packed_bytes(const Problem& problem,
                                                  const RoutineParams& params) const {
  SN_ASSIGN_OR_RETURN(const ExpandedChildnet inside, expand(problem, params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(inside));
  return parts.bytes;
}

Status ChildnetRoutine::pack(const Problem& problem, const RoutineParams& params,
                             Allocator& scratch, std::byte* packed) const {
  SN_ASSIGN_OR_RETURN(ExpandedChildnet inside, expand(problem, params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(inside));
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> values, fold(*problem.registry, inside, scratch));
  std::memset(packed, 0, parts.bytes);  // what lies between the parts, too
  std::size_t next = 0;
  for (const std::size_t index : inside.folded)
    for (const TensorId id : inside.graph.layers()[index].outputs) {
      const std::size_t bytes = parts.folded[next++];
      if (bytes > 0) std::memcpy(packed, values[id].data(), bytes);
      packed += aligned(bytes);
    }
  for (std::size_t i = 0; i < inside.layers.size(); ++i) {
    if (parts.layers[i] == 0) continue;
    ChildnetLayer& layer = inside.layers[i];
    const Layer& of = inside.graph.layers()[layer.index];
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      if (of.inputs[k] != kNoTensor && layer.problem.inputs[k].constant)
        layer.problem.inputs[k].value = values[of.inputs[k]];
    SN_RETURN_IF_ERROR(layer.routine->pack(base_of(layer), layer.params, scratch, packed));
    packed += aligned(parts.layers[i]);
  }
  return {};
}

Result<std::unique_ptr<Kernel>> ChildnetRoutine::create(const Problem& problem,
                                                        const RoutineParams& params,
                                                        const PackedWeights& packed) const {
  SN_ASSIGN_OR_RETURN(ExpandedChildnet inside, expand(problem, params));
  SN_ASSIGN_OR_RETURN(const PackedParts parts, packed_parts(inside));
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
  std::size_t next = 0;
  for (const std::size_t index : inside.folded)
    for (const TensorId id : inside.graph.layers()[index].outputs) {
      const std::size_t bytes = parts.folded[next++];
      if (bytes == 0) continue;
      TensorSpec& spec = inside.specs[id];
      SN_ASSIGN_OR_RETURN(spec.value, take(spec.type, spec.shape, bytes));
    }
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (std::size_t i = 0; i < inside.layers.size(); ++i) {
    ChildnetLayer& layer = inside.layers[i];
    if (layer.view) {
      kernels.emplace_back();
      continue;
    }
    const Layer& of = inside.graph.layers()[layer.index];
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      if (of.inputs[k] != kNoTensor) layer.problem.inputs[k] = inside.specs[of.inputs[k]];
    PackedWeights part;
    if (const std::size_t bytes = parts.layers[i]; bytes > 0) {
      SN_ASSIGN_OR_RETURN(part.bytes,
                          take(DataType::uint8, Shape{static_cast<std::int64_t>(bytes)}, bytes));
    }
    auto kernel =
        problem.registry->create_kernel(*layer.routine, layer.problem, layer.params, part);
    if (!kernel.ok())
      return Status(kernel.status())
          .with_context(fmt::format("inner layer '{}' of {}", of.name, descriptor().str()));
    kernels.push_back(std::move(*kernel));
  }
  return make_childnet_kernel(inside, std::move(kernels));
}

}  // namespace softneuro
