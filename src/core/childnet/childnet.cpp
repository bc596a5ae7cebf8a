#include "core/childnet/childnet.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/childnet/childnet_kernel.h"
#include "core/childnet/childnet_text.h"
#include "core/routine/evaluate.h"
#include "core/routine/format.h"

namespace softneuro {
namespace {

// Made once, when the first childnet that is in no registry of its own is asked about.
const Result<Registry>& builtin_registry() {
  static const Result<Registry> registry = make_builtin_registry();
  return registry;
}

// Childnets are asked whether they apply by asking what is inside them.
thread_local int depth_now = 0;
struct DepthGuard {
  DepthGuard() { ++depth_now; }
  ~DepthGuard() { --depth_now; }
};

// Elements lie in the order of the plain layout.
bool lies_as_plain(const TensorSpec& spec) {
  if (spec.layout == Layout::plain || spec.shape.rank() < 2) return true;
  const std::int64_t spatial = spec.shape.elements(2, spec.shape.rank());
  const bool whole = spec.shape[1] % block_of(spec.layout) == 0;
  return (spatial == 1 && whole) || (spec.layout == Layout::channels_last && spec.shape[1] == 1);
}

bool all_constant(const ChildnetOutline& outline, const Layer& layer) {
  return std::all_of(layer.inputs.begin(), layer.inputs.end(),
                     [&](TensorId id) { return id == kNoTensor || outline.specs[id].constant; });
}

// The routine that is taken where nothing is named; childnets come last.
Result<const Routine*> default_routine(const Registry& registry, const Problem& problem) {
  const Routine* best = nullptr;
  std::string reasons;
  for (const Registry::Candidate& candidate : registry.explain(problem)) {
    const auto rank = [](const Routine& r) {
      return r.as_childnet() != nullptr ? -1 : r.default_rank();
    };
    if (!candidate.applicability)
      reasons +=
          fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                      candidate.routine->descriptor().str(), candidate.applicability.reason());
    else if (best == nullptr || rank(*candidate.routine) > rank(*best))
      best = candidate.routine;
  }
  if (best == nullptr)
    return unsupported("nothing computes '{}' inside ({})", problem.layer_name, reasons);
  return best;
}

Problem base_of(const ChildnetLayer& layer) {
  return packed_problem(*layer.routine, layer.problem);
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
  for (const Registry::Candidate& candidate : registry.explain(layer.problem)) {
    if (candidate.routine->descriptor().str() != named->routine) continue;
    if (!candidate.applicability)
      return invalid_argument("{} cannot compute '{}' inside: {}", named->routine, named->layer,
                              candidate.applicability.reason());
    layer.routine = candidate.routine;
    SN_ASSIGN_OR_RETURN(layer.params, parse_params(*layer.routine, layer.problem, named->params));
    if (const ChildnetRoutine* nested = layer.routine->as_childnet())
      return nested->outline(base_of(layer), layer.params).status();
    return {};
  }
  return invalid_argument("there is no routine {} for '{}' inside", named->routine, named->layer);
}

// The values of folded tensors, by tensor.
Result<std::vector<Tensor>> fold(const Registry& registry, const ChildnetOutline& outline,
                                 Allocator& allocator) {
  std::vector<Tensor> values(outline.graph.tensor_count());
  for (std::size_t id = 0; id < values.size(); ++id) values[id] = outline.specs[id].value;
  for (const std::size_t index : outline.folded) {
    const Layer& layer = outline.graph.layers()[index];
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
bool is_read(const ChildnetOutline& outline, TensorId id) {
  const auto& outputs = outline.graph.outputs;
  if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) return true;
  for (const ChildnetLayer& layer : outline.layers) {
    const auto& inputs = outline.graph.layers()[layer.index].inputs;
    if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
    if (layer.view || layer.routine->reads_constants(base_of(layer))) return true;
  }
  return false;
}

// What pack() makes: the folded tensors that are read, then each layer's packed weights. Unknown
// unless all layers know theirs.
std::optional<std::vector<std::size_t>> segment_sizes(const ChildnetOutline& outline) {
  std::vector<std::size_t> sizes;
  for (const std::size_t index : outline.folded)
    for (const TensorId id : outline.graph.layers()[index].outputs) {
      const bool kept = id != kNoTensor && is_read(outline, id);
      const TensorSpec spec = kept ? outline.specs[id] : TensorSpec{};
      sizes.push_back(
          kept ? static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout)) : 0);
    }
  for (const ChildnetLayer& layer : outline.layers) {
    if (layer.view) continue;
    const auto size = layer.routine->packed_size(base_of(layer), layer.params);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

// Packed weights may come from a file, whose size was right: so must be the parts'.
Status check_segments(const ChildnetOutline& outline, std::span<const Tensor> segments) {
  const auto sizes = segment_sizes(outline);
  if (!sizes) return {};
  const bool fit =
      std::equal(sizes->begin(), sizes->end(), segments.begin(), segments.end(),
                 [](std::size_t size, const Tensor& segment) { return size == segment.bytes(); });
  return fit ? Status() : internal_error("packed weights of a childnet do not fit its layers");
}

}  // namespace

// --- what is inside ------------------------------------------------------------------------------

Result<const Registry*> ChildnetRoutine::inside() const {
  if (registry_ != nullptr) return registry_;
  const Result<Registry>& registry = builtin_registry();
  SN_RETURN_IF_ERROR(registry.status());
  return &*registry;
}

Status ChildnetRoutine::add_layer(ChildnetOutline& outline, std::size_t index,
                                  const Problem& problem, const RoutineParams& params) const {
  const Layer& layer = outline.graph.layers()[index];
  std::vector<TensorSpec> inputs;
  for (const TensorId id : layer.inputs)
    inputs.push_back(id == kNoTensor ? TensorSpec{} : outline.specs[id]);
  const bool constant = all_constant(outline, layer);
  ChildnetLayer inner;
  inner.index = index;
  SN_ASSIGN_OR_RETURN(inner.problem, make_problem(layer, std::move(inputs)));
  inner.problem.threads = problem.threads;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
    const TensorId id = layer.outputs[i];
    if (id == kNoTensor) continue;
    TensorSpec& spec = inner.problem.outputs[i];
    spec.constant = constant;
    if (!constant && is_real(spec.type) && spec.shape.rank() >= 3)
      spec.layout = inner_layout(params);
    for (std::size_t o = 0; o < outline.graph.outputs.size(); ++o)
      if (outline.graph.outputs[o] == id) {
        if (!(spec.shape == problem.outputs[o].shape) || spec.type != problem.outputs[o].type)
          return internal_error("output {} of {} is {} {} inside", o, descriptor().str(),
                                to_string(spec.type), spec.shape.str());
        spec.layout = problem.outputs[o].layout;
      }
    outline.specs[id] = spec;
  }
  if (constant) {
    outline.folded.push_back(index);
    return {};
  }
  inner.view = layer.type->is_view && layer.post_ops.empty();
  if (inner.view &&
      !(lies_as_plain(inner.problem.inputs[0]) && lies_as_plain(inner.problem.outputs[0])))
    return unsupported("'{}' inside would have to move data", layer.name);
  outline.layers.push_back(std::move(inner));
  return {};
}

Result<ChildnetOutline> ChildnetRoutine::outline(const Problem& problem,
                                                 const RoutineParams& params) const {
  if (depth_now >= kMaxChildnetDepth)
    return unsupported("childnets nest at most {} deep", kMaxChildnetDepth);
  const DepthGuard guard;
  SN_ASSIGN_OR_RETURN(const auto choices, parse_inner(params.text("inner")));
  ChildnetOutline outline;
  std::vector<TensorId> own;
  const auto add_input = [&](std::size_t i) {
    const TensorSpec& spec = problem.inputs[i];
    if (!spec.present()) return kNoTensor;
    TensorDef def;
    def.name = "input" + std::to_string(i);
    def.type = spec.type;
    def.shape = DynamicShape(spec.shape);
    const TensorId id = outline.graph.add_tensor(std::move(def));
    outline.graph.inputs.push_back(id);
    outline.ports.resize(id + 1, -1);
    outline.ports[id] = static_cast<std::int32_t>(i);
    outline.specs.resize(id + 1);
    outline.specs[id] = spec;
    return id;
  };
  for (std::size_t i = 0; i < problem.own_inputs; ++i) own.push_back(add_input(i));
  SN_RETURN_IF_ERROR(build(problem, params, outline.graph, own));
  if (outline.graph.outputs.size() != problem.outputs.size() || outline.graph.layers().empty())
    return internal_error("{} built no net for its outputs", descriptor().str());
  if (!problem.post_ops.empty()) {
    Layer& last = outline.graph.layers().back();
    last.post_ops = problem.post_ops;
    for (PostOp& op : last.post_ops) {
      if (op.kind != PostOp::Kind::binary) continue;
      const std::size_t port = op.input;
      op.input = static_cast<std::uint32_t>(last.inputs.size());
      last.inputs.push_back(add_input(port));
    }
  }
  // Constants that build() added.
  outline.ports.resize(outline.graph.tensor_count(), -1);
  outline.specs.resize(outline.graph.tensor_count());
  for (TensorId id = 0; id < outline.graph.tensor_count(); ++id) {
    const TensorDef& def = outline.graph.tensor(id);
    if (!def.is_constant()) continue;
    TensorSpec& spec = outline.specs[id];
    spec.type = def.type;
    spec.shape = def.constant.shape();
    spec.constant = true;
    spec.value = def.constant;
  }
  for (std::size_t i = 0; i < outline.graph.layers().size(); ++i)
    SN_RETURN_IF_ERROR(add_layer(outline, i, problem, params));
  for (const InnerChoice& choice : choices)
    if (std::none_of(outline.layers.begin(), outline.layers.end(), [&](const ChildnetLayer& l) {
          return !l.view && l.problem.layer_name == choice.layer;
        }))
      return invalid_argument("{} has no layer '{}' inside", descriptor().str(), choice.layer);
  SN_ASSIGN_OR_RETURN(const Registry* registry, inside());
  for (ChildnetLayer& layer : outline.layers)
    if (!layer.view) SN_RETURN_IF_ERROR(choose(*registry, choices, layer));
  return outline;
}

std::string ChildnetRoutine::inner_text(const ChildnetOutline& outline) {
  std::vector<InnerChoice> choices;
  for (const ChildnetLayer& layer : outline.layers)
    if (!layer.view)
      choices.push_back({layer.problem.layer_name, layer.routine->descriptor().str(),
                         print_params(layer.params)});
  return print_inner(choices);
}

// --- the routine ---------------------------------------------------------------------------------

Applicability ChildnetRoutine::applicable(const Problem& problem) const {
  if (Applicability own = fits(problem); !own) return own;
  const auto inside = outline(problem, default_params(problem));
  return inside.ok() ? Applicability::yes()
                     : Applicability::no(std::string(inside.status().message()));
}

bool ChildnetRoutine::supports_post_ops(const Problem& problem) const {
  return carries_post_ops() && fits(problem).ok() && outline(problem, default_params(problem)).ok();
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
  space.allows = [this, problem](const Params& params) { return outline(problem, params).ok(); };
  return space;
}

Applicability ChildnetRoutine::check_params(const Problem& problem,
                                            const RoutineParams& params) const {
  const auto named = outline(problem, params);
  if (!named.ok()) return Applicability::no(std::string(named.status().message()));
  RoutineParams open = params;
  open.set("inner", std::string());
  if (outer_space(problem).contains(open)) return Applicability::yes();
  return Applicability::no("the routine does not have the parameters " + params.str());
}

ParamSpace ChildnetRoutine::param_space(const Problem& problem) const {
  ParamSpace space;
  space.axes = own_axes(problem);
  // One layer at a time is given another routine, for tests; a tuner names whole paths instead, and
  // check_params() takes them. Specifications (rank 0) are there to compare with.
  ParamAxis inner{"inner", {std::string()}};
  const auto usual = outline(problem, default_params(problem));
  const auto registry = inside();
  if (usual.ok() && registry.ok())
    for (const ChildnetLayer& layer : usual->layers) {
      if (layer.view) continue;
      for (const Registry::Candidate& candidate : (*registry)->explain(layer.problem))
        if (candidate.applicability && candidate.routine != layer.routine &&
            candidate.routine->default_rank() > 0)
          inner.values.emplace_back(
              print_inner({{layer.problem.layer_name, candidate.routine->descriptor().str(), {}}}));
    }
  space.axes.push_back(std::move(inner));
  space.allows = [this, problem](const Params& params) { return outline(problem, params).ok(); };
  return space;
}

std::string ChildnetRoutine::pack_key(const Problem& problem, const RoutineParams& params) const {
  const auto inside = outline(problem, params);
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

Result<PackedWeights> ChildnetRoutine::pack(const Problem& problem, const RoutineParams& params,
                                            Allocator& allocator) const {
  SN_ASSIGN_OR_RETURN(ChildnetOutline inside, outline(problem, params));
  SN_ASSIGN_OR_RETURN(const Registry* registry, this->inside());
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> values, fold(*registry, inside, allocator));
  std::vector<Tensor> segments;
  for (const std::size_t index : inside.folded)
    for (const TensorId id : inside.graph.layers()[index].outputs)
      segments.push_back(id == kNoTensor || !is_read(inside, id) ? Tensor() : values[id]);
  for (ChildnetLayer& layer : inside.layers) {
    if (layer.view) continue;
    const Layer& of = inside.graph.layers()[layer.index];
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
      if (of.inputs[i] != kNoTensor && layer.problem.inputs[i].constant)
        layer.problem.inputs[i].value = values[of.inputs[i]];
    SN_ASSIGN_OR_RETURN(const PackedWeights packed,
                        layer.routine->pack(base_of(layer), layer.params, allocator));
    segments.push_back(packed.bytes);
  }
  return join_segments(segments, allocator);
}

std::optional<std::size_t> ChildnetRoutine::packed_size(const Problem& problem,
                                                        const RoutineParams& params) const {
  const auto inside = outline(problem, params);
  if (!inside.ok()) return std::nullopt;
  const auto sizes = segment_sizes(*inside);
  if (!sizes) return std::nullopt;
  return joined_bytes(*sizes);
}

Result<std::unique_ptr<Kernel>> ChildnetRoutine::create(const Problem& problem,
                                                        const RoutineParams& params,
                                                        const PackedWeights& packed) const {
  SN_ASSIGN_OR_RETURN(ChildnetOutline inside, outline(problem, params));
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> segments, split_segments(packed));
  SN_RETURN_IF_ERROR(check_segments(inside, segments));
  std::size_t next = 0;
  const auto take = [&] { return next < segments.size() ? segments[next++] : Tensor(); };
  for (const std::size_t index : inside.folded)
    for (const TensorId id : inside.graph.layers()[index].outputs) {
      const Tensor bytes = take();
      if (id == kNoTensor || !is_read(inside, id)) continue;
      TensorSpec& spec = inside.specs[id];
      SN_ASSIGN_OR_RETURN(spec.value,
                          Tensor::share(spec.type, spec.shape, bytes.data(), bytes.bytes(),
                                        std::make_shared<const Tensor>(packed.bytes)));
    }
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (ChildnetLayer& layer : inside.layers) {
    if (layer.view) {
      kernels.emplace_back();
      continue;
    }
    const Layer& of = inside.graph.layers()[layer.index];
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
      if (of.inputs[i] != kNoTensor) layer.problem.inputs[i] = inside.specs[of.inputs[i]];
    auto kernel = create_kernel(*layer.routine, layer.problem, layer.params, {take()});
    if (!kernel.ok())
      return Status(kernel.status())
          .with_context(fmt::format("'{}' inside {}", of.name, descriptor().str()));
    kernels.push_back(std::move(*kernel));
  }
  return make_childnet_kernel(inside, std::move(kernels));
}

}  // namespace softneuro
