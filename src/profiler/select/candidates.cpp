#include "profiler/select/candidates.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/childnet/childnet.h"

namespace softneuro {
namespace {

constexpr const char* kHostFloat32 = "cpu:float32";

bool same_quantization(const TensorSpec& a, const TensorSpec& b) {
  if (!a.quantization || !b.quantization) return false;
  return a.quantization->is_signed == b.quantization->is_signed &&
         a.quantization->axis == b.quantization->axis &&
         a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

// A view passes on the bytes: plain, on any device, of any type whose bytes mean the same on both
// sides.
std::vector<Candidate> view_candidates(const Registry& registry, const Problem& problem,
                                       std::vector<std::string> schemas) {
  // Between layers of a device that have float32 routines only.
  const std::vector<std::string> float32 = float32_schemas(schemas);
  schemas.insert(schemas.end(), float32.begin(), float32.end() - 1);
  std::vector<Candidate> candidates;
  const FormatTuple model_formats = formats_of(problem);
  const auto add = [&](DeviceId device, DataType type) {
    Candidate candidate;
    candidate.formats = model_formats;
    for (Format* format : {&candidate.formats.inputs[0], &candidate.formats.outputs[0]}) {
      format->device = device;
      format->type = type;
    }
    candidate.isolated_us = 0;
    candidates.push_back(std::move(candidate));
  };
  const TensorSpec& x = problem.inputs[0];
  add(DeviceId(), x.type);
  if (x.constant) return candidates;
  std::vector<DeviceId> devices = {DeviceId()};
  for (const Device* device : registry.devices()) devices.push_back(device->id());
  for (const DeviceId device : devices)
    for (const Precision& precision :
         {Precision(DataType::float32), Precision(DataType::float16), Precision(DataType::bfloat16),
          Precision(DataType::qint8), Precision(Arithmetic::tf32, DataType::float32)}) {
      const DataType type = precision.type;
      // Integers and booleans keep their type in the schemas of all types.
      const DataType shown = is_real(x.type) ? type : x.type;
      if (type == DataType::qint8 && !same_quantization(x, problem.outputs[0])) continue;
      const RoutineDescriptor schema{device, type, Layout::plain, "view", precision.arithmetic};
      const bool is_known =
          std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& known) {
            return known.formats.inputs[0] == Format{shown, Layout::plain, device};
          });
      if (!is_known && matches_any_schema(schema, schemas)) add(device, shown);
    }
  return candidates;
}

Candidate candidate_of(const Implementation& implementation, RoutineParams params) {
  const Problem& problem = implementation.whole_problem();
  Candidate candidate;
  candidate.routine = &implementation.routine();
  candidate.unresolved = implementation.as_childnet() != nullptr;
  if (!candidate.unresolved)
    candidate.key =
        profile_key(implementation.context().registry(), problem, *candidate.routine, params);
  candidate.params = std::move(params);
  candidate.formats = formats_of(problem);
  return candidate;
}

// Adds the candidates that the parameter space proposes next, in view of those that there are.
void propose(const Implementation& implementation, const CandidateRules& rules,
             std::vector<Candidate>& candidates) {
  const FormatTuple formats = formats_of(implementation.whole_problem());
  std::vector<Trial> known;
  for (Candidate& candidate : candidates) {
    if (candidate.routine != &implementation.routine() || candidate.formats != formats) continue;
    known.push_back({candidate.params, candidate.wrong ? INFINITY : candidate.isolated_us});
    candidate.proposes = false;
  }
  if (known.size() >= rules.max_params) return;
  const ChildnetImplementation* const childnet = implementation.as_childnet();
  ParamSpace space = childnet == nullptr ? implementation.param_space() : childnet->outer_space();
  if (rules.include_pruned) space.promising = nullptr;
  Proposal proposal = space.propose(known, rules.max_params - known.size());
  for (RoutineParams& params : proposal.params) {
    candidates.push_back(candidate_of(implementation, std::move(params)));
    candidates.back().proposes = !proposal.is_last && childnet == nullptr;
  }
}

// The candidates of a routine for a problem in the formats that it has.
void add_fixed(const RoutineContext& context, const Routine& routine, const ProblemPtr& problem,
               const CandidateRules& rules, std::vector<Candidate>& candidates) {
  const bool is_childnet = routine.facts().is_childnet;
  if (is_childnet && !rules.childnets) return;
  const auto implementation = context.implement(routine, problem);
  if (!implementation.ok()) return;
  candidates.push_back(candidate_of(**implementation, (*implementation)->default_params()));
  propose(**implementation, rules, candidates);
}

void add_routine(const RoutineContext& context, const Routine& routine, const Problem& model,
                 const CandidateRules& rules, std::vector<Candidate>& candidates) {
  for (const FormatTuple& formats : routine.formats(model))
    add_fixed(context, routine, std::make_shared<const Problem>(with_formats(model, formats)),
              rules, candidates);
}

bool is_avoided(const CandidateRules& rules, const RoutineDescriptor& descriptor) {
  return std::any_of(rules.selection.avoid.begin(), rules.selection.avoid.end(),
                     [&](const std::string& pattern) { return matches_name(descriptor, pattern); });
}

// Why a pinned layer has no candidate.
Status pin_fails(const RoutineContext& context, const Problem& problem,
                 const std::string& pattern) {
  std::string reasons;
  std::set<std::string> names;
  const auto add = [&](const Routine& routine, const std::string& reason) {
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", routine.descriptor().str(), reason);
  };
  for (const Routine* routine : context.registry().routines(problem.type->name)) {
    names.insert(routine->descriptor().str());
    if (!matches_name(routine->descriptor(), pattern)) continue;
    const std::vector<FormatTuple> tuples = routine->formats(problem);
    if (tuples.empty()) add(*routine, no_format_reason(routine->descriptor()));
    for (const FormatTuple& formats : tuples)
      add(*routine, context.check(*routine, with_formats(problem, formats)).reason());
  }
  if (reasons.empty())
    reasons =
        fmt::format("no routine of its type has that name; there are {}", fmt::join(names, ", "));
  return unsupported("layer '{}' cannot be pinned to '{}': {}", problem.layer_name, pattern,
                     reasons);
}

Status check_pins(const NetProblems& problems, const CandidateRules& rules) {
  for (const auto& pin : rules.selection.pin) {
    const std::string& name = pin.first;
    const auto layer =
        std::find_if(problems.layers.begin(), problems.layers.end(),
                     [&](const LayerProblem& known) { return known.layer->name == name; });
    if (layer == problems.layers.end())
      return std::ranges::find(problems.graph->layers(), name, &Layer::name) ==
                     problems.graph->layers().end()
                 ? invalid_argument("no layer of the net is named '{}', which is pinned to '{}'",
                                    name, pin.second)
                 : invalid_argument(
                       "layer '{}' cannot be pinned: its result is a constant, is not used, or has "
                       "a shape that depends on data",
                       name);
    if (layer->problem.type->is_view)
      return invalid_argument("layer '{}' cannot be pinned: it is a view, which nothing computes",
                              name);
  }
  return {};
}

// In the formats that the routines of one layer may have.
void add_candidates(const RoutineContext& context, const LayerProblem& layer,
                    const CandidateRules& rules, std::vector<Candidate>& candidates) {
  for (const Routine* routine : context.registry().routines(layer.problem.type->name))
    if (is_allowed(rules, layer.layer->name, routine->descriptor()))
      add_routine(context, *routine, layer.problem, rules, candidates);
}

// naive where anything else computes the layer, in whatever formats (adapts lead everywhere): it
// would take seconds to learn that it is slow.
void drop_naive(std::vector<Candidate>& candidates) {
  const auto is_naive = [](const Candidate& c) {
    return c.routine->descriptor().algorithm == "naive";
  };
  if (!std::all_of(candidates.begin(), candidates.end(), is_naive))
    std::erase_if(candidates, is_naive);
}

// Blocks of 8 channels where the layer may have blocks of 16: those were as fast or faster in every
// net tried, with AVX2 as with AVX-512, and each format more is measured in all adapts as well.
void drop_narrow_blocks(std::vector<Candidate>& candidates) {
  const auto has = [](const Candidate& c, Layout layout) {
    const auto is = [layout](const Format& format) { return format.layout == layout; };
    return std::ranges::any_of(c.formats.inputs, is) || std::ranges::any_of(c.formats.outputs, is);
  };
  if (std::ranges::any_of(candidates, [&](const Candidate& c) { return has(c, Layout::nchw16c); }))
    std::erase_if(candidates, [&](const Candidate& c) { return has(c, Layout::nchw8c); });
}

// Those expected to be fast first: the others are stopped sooner. Childnets come last: what they
// have to beat decides how far they are looked into.
void order_by_rank(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     if (a.unresolved != b.unresolved) return b.unresolved;
                     return a.routine->facts().default_rank > b.routine->facts().default_rank;
                   });
}

}  // namespace

bool matches_name(const RoutineDescriptor& descriptor, const std::string& pattern) {
  return fnmatch(pattern.c_str(), descriptor.str().c_str(), 0) == 0;
}

bool is_allowed(const CandidateRules& rules, const std::string& layer,
                const RoutineDescriptor& descriptor) {
  if (const auto pinned = rules.selection.pin.find(layer); pinned != rules.selection.pin.end())
    return matches_name(descriptor, pinned->second);
  return !is_avoided(rules, descriptor) && matches_any_schema(descriptor, rules.schemas);
}

double Candidate::time_us() const {
  return in_net.us > 0 ? in_net.us : isolated_us;
}

bool Candidate::is_usable() const {
  return std::isfinite(isolated_us) && !wrong;
}

bool Candidate::is_float32() const {
  return routine == nullptr || routine->descriptor().precision() == DataType::float32;
}

std::string Candidate::str() const {
  if (routine == nullptr) return "view";
  const std::string name = routine->descriptor().str();
  const std::string values = params.str();
  return values.empty() ? name : name + ' ' + values;
}

Choice Candidate::choice() const {
  Choice choice;
  if (routine != nullptr) choice.routine = routine->descriptor().str();
  choice.params = params;
  choice.formats = formats;
  choice.time_us = time_us();
  return choice;
}

int LayerCandidates::index_of(const Choice& choice) const {
  const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    const Choice known = candidate.choice();
    return known.routine == choice.routine && known.params == choice.params &&
           known.formats == choice.formats;
  });
  return found == candidates.end() ? -1 : static_cast<int>(found - candidates.begin());
}

std::string profile_key(const Registry& registry, const Problem& problem, const Routine& routine,
                        const RoutineParams& params) {
  const Device* const device = registry.device(routine.descriptor().device);
  const RoutineFacts facts = routine.facts();
  return fmt::format("{}|{}|{}|{}|v{}|{}{}", problem.str(), quantization_key(problem),
                     routine.descriptor().str(), params.str(), facts.version, facts.library,
                     device == nullptr
                         ? std::string()
                         : fmt::format("|{}|method {}", device->name(), constants::kDeviceMethod));
}

void propose_after(const RoutineContext& context, const Problem& model, const CandidateRules& rules,
                   std::size_t index, std::vector<Candidate>& candidates) {
  const Candidate& candidate = candidates[index];
  const auto is_alike = [&](const Candidate& other) {
    return other.routine == candidate.routine && other.formats == candidate.formats;
  };
  const auto later = candidates.begin() + static_cast<std::ptrdiff_t>(index) + 1;
  if (!candidate.proposes || std::any_of(later, candidates.end(), is_alike)) return;
  const auto implementation =
      context.implement(*candidate.routine, with_formats(model, candidate.formats));
  if (implementation.ok()) propose(**implementation, rules, candidates);
}

std::vector<Candidate> list_fixed_candidates(const RoutineContext& context, const Problem& problem,
                                             const CandidateRules& rules) {
  const auto shared = std::make_shared<const Problem>(problem);
  std::vector<Candidate> candidates;
  for (const bool allowed : {true, false}) {
    if (!candidates.empty()) break;
    for (const Routine* routine : context.registry().routines(problem.type->name))
      if (is_allowed(rules, "", routine->descriptor()) == allowed &&
          (allowed || routine->descriptor().arithmetic == Arithmetic::of_type) &&
          !is_avoided(rules, routine->descriptor()))
        add_fixed(context, *routine, shared, rules, candidates);
  }
  drop_naive(candidates);
  order_by_rank(candidates);
  return candidates;
}

std::vector<std::string> float32_schemas(std::span<const std::string> schemas) {
  std::vector<std::string> found;
  for (const std::string& schema : schemas) {
    std::string float32 = schema.substr(0, schema.find(':')) + ":float32";
    if (float32 != kHostFloat32 && std::ranges::find(found, float32) == found.end())
      found.push_back(std::move(float32));
  }
  found.emplace_back(kHostFloat32);
  return found;
}

Result<std::vector<LayerCandidates>> list_candidates(const RoutineContext& context,
                                                     const NetProblems& problems,
                                                     const CandidateRules& rules) {
  SN_RETURN_IF_ERROR(check_pins(problems, rules));
  CandidateRules float32 = rules;  // for layers that the schemas leave without any
  std::vector<LayerCandidates> layers;
  std::map<std::string, std::size_t> first_of;
  for (const LayerProblem& layer : problems.layers) {
    const Problem& model = layer.problem;
    LayerCandidates entry;
    entry.layer = layer;
    // The model's own formats, but the scales of all tensors: they decide what qint8 routines do.
    Problem quantised = model;
    for (TensorSpec& spec : quantised.inputs)
      if (is_real(spec.type) && spec.quantization) spec.type = DataType::qint8;
    for (TensorSpec& spec : quantised.outputs)
      if (is_real(spec.type) && spec.quantization) spec.type = DataType::qint8;
    const auto pinned = rules.selection.pin.find(layer.layer->name);
    const std::string kind = model.str() + quantization_key(quantised) +
                             (pinned == rules.selection.pin.end() ? "" : '|' + pinned->second);
    entry.same_as = first_of.emplace(kind, layers.size()).first->second;
    if (model.type->is_view) {
      entry.candidates = view_candidates(context.registry(), model, rules.schemas);
      layers.push_back(std::move(entry));
      continue;
    }
    add_candidates(context, layer, rules, entry.candidates);
    if (entry.candidates.empty()) {
      if (pinned != rules.selection.pin.end()) return pin_fails(context, model, pinned->second);
      entry.fallback = true;
      for (const std::string& schema : float32_schemas(rules.schemas)) {
        float32.schemas = {schema};
        add_candidates(context, layer, float32, entry.candidates);
        if (!entry.candidates.empty()) break;
      }
    }
    if (entry.candidates.empty() && !rules.selection.avoid.empty())
      return unsupported("layer '{}': every routine that could compute it is excluded ({})",
                         layer.layer->name, fmt::join(rules.selection.avoid, ", "));
    if (entry.candidates.empty())
      return unsupported("layer '{}': no routine can compute {}", layer.layer->name, model.str());
    drop_naive(entry.candidates);
    if (!rules.include_pruned) drop_narrow_blocks(entry.candidates);
    order_by_rank(entry.candidates);
    layers.push_back(std::move(entry));
  }
  return layers;
}

}  // namespace softneuro
