#include "profiler/select/default_path.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/tensor_view.h"
#include "core/routine/layer_cost.h"
#include "core/routine/noop_adapt.h"
#include "profiler/measure/constants.h"
#include "profiler/select/selection.h"

namespace softneuro {
namespace {

using namespace constants;

// The formats that a default plan considers: the model's types, plain or channels-last. Blocked
// layouts were faster by a few percent at most where they were faster at all.
bool is_considered(const FormatTuple& formats, const FormatTuple& model) {
  const auto same_types = [](const std::vector<Format>& a, const std::vector<Format>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Format& x, const Format& y) {
      return x.type == y.type && x.device.is_host() &&
             (x.layout == Layout::plain || x.layout == Layout::channels_last);
    });
  };
  return same_types(formats.inputs, model.inputs) && same_types(formats.outputs, model.outputs);
}

class Lister {
 public:
  Lister(const Registry& registry, std::span<const std::string> schemas)
      : registry_(registry), schemas_(schemas) {}

  std::vector<Candidate> candidates_of(const Problem& problem) {
    Candidate plain;
    plain.formats = formats_of(problem);
    plain.unit_us = 0;
    if (problem.type->is_view) return {plain};
    // Where nothing computes the layer, the plan says so.
    const auto usual = registry_.default_choice(problem, schemas_);
    if (!usual.ok()) return {plain};
    plain.routine = *usual;
    if (std::isinf((*usual)->default_speed(problem))) return {plain};
    plain.unit_us = estimated_cost(**usual, problem);
    std::vector<Candidate> candidates = {plain};
    add_float32(problem, candidates);
    add_others(problem, candidates);
    return candidates;
  }

 private:
  // Where a layer of 16-bit numbers has nothing but cpu/naive: the default routine in float32.
  void add_float32(const Problem& problem, std::vector<Candidate>& candidates) {
    const auto is_half = [](const TensorSpec& spec) {
      return spec.type == DataType::float16 || spec.type == DataType::bfloat16;
    };
    if (candidates[0].routine->default_rank() > 0 || std::ranges::none_of(problem.outputs, is_half))
      return;
    for (const FormatTuple& formats : uniform_formats(problem, DataType::float32, Layout::plain)) {
      const Problem wide = with_formats(problem, formats);
      const auto routine = registry_.default_choice(wide, schemas_);
      if (!routine.ok() || (*routine)->default_rank() == 0) continue;
      candidates[0].unit_us /= kNaiveSpeed;
      candidates.push_back(candidate_of(**routine, wide, formats));
    }
  }

  // The best routine in each of the other formats.
  void add_others(const Problem& problem, std::vector<Candidate>& candidates) {
    std::vector<const Routine*> ranked = registry_.routines(problem.type->name);
    std::erase_if(ranked, [&](const Routine* routine) { return !is_eligible(*routine); });
    std::stable_sort(ranked.begin(), ranked.end(), [](const Routine* a, const Routine* b) {
      return a->default_rank() > b->default_rank();
    });
    for (const Routine* routine : ranked)
      for (const FormatTuple& formats : routine->formats(problem)) {
        const bool is_known =
            std::any_of(candidates.begin(), candidates.end(),
                        [&](const Candidate& candidate) { return candidate.formats == formats; });
        if (is_known || !is_considered(formats, candidates[0].formats)) continue;
        const Problem formatted = with_formats(problem, formats);
        if (!registry_.check(*routine, formatted)) continue;
        candidates.push_back(candidate_of(*routine, formatted, formats));
      }
  }

  static Candidate candidate_of(const Routine& routine, const Problem& formatted,
                                const FormatTuple& formats) {
    Candidate candidate;
    candidate.routine = &routine;
    candidate.params = routine.default_params(formatted);
    candidate.formats = formats;
    candidate.unit_us = estimated_cost(routine, formatted);
    return candidate;
  }

  // Routines of rank 0 serve where nothing else does, which is in the plain layout.
  bool is_eligible(const Routine& routine) const {
    const RoutineDescriptor& descriptor = routine.descriptor();
    return routine.default_rank() > 0 && descriptor.device.is_host() &&
           descriptor.layout == Layout::channels_last && routine.as_childnet() == nullptr &&
           (schemas_.empty() || matches_any_schema(descriptor, schemas_));
  }

  const Registry& registry_;
  std::span<const std::string> schemas_;
};

std::vector<LayerCandidates> list_all(const Registry& registry, const NetProblems& problems,
                                      std::span<const std::string> schemas) {
  Lister lister(registry, schemas);
  std::vector<LayerCandidates> layers;
  layers.reserve(problems.layers.size());
  std::map<std::string, std::size_t> first_of;
  for (const LayerProblem& layer : problems.layers) {
    LayerCandidates entry;
    entry.layer.layer = layer.layer;
    const auto [known, is_new] =
        first_of.emplace(layer.problem.str() + quantization_key(layer.problem), layers.size());
    entry.same_as = known->second;
    entry.candidates =
        is_new ? lister.candidates_of(layer.problem) : layers[known->second].candidates;
    layers.push_back(std::move(entry));
  }
  return layers;
}

}  // namespace

double estimated_cost(const Routine& routine, const Problem& problem) {
  return layer_steps(problem) / routine.default_speed(problem) +
         kStepsPerByte * layer_cost(problem).bytes;
}

double estimated_adapt_cost(const Shape& shape, const Format& from, const Format& to) {
  if (is_noop_adapt(shape, from, to, true)) return 0;
  const auto bytes = [&](const Format& format) {
    return static_cast<double>(storage_bytes(format.type, shape, format.layout));
  };
  return kStepsPerKernel + kStepsPerByte * (bytes(from) + bytes(to));
}

Result<RoutinePath> default_path(const Registry& registry, const NetProblems& problems,
                                 std::span<const std::string> schemas) {
  const std::vector<LayerCandidates> layers = list_all(registry, problems, schemas);
  if (std::all_of(layers.begin(), layers.end(),
                  [](const LayerCandidates& layer) { return layer.candidates.size() == 1; }))
    return RoutinePath();
  std::vector<const Shape*> shapes(problems.graph->tensor_count());  // null: of no layer
  for (const LayerProblem& layer : problems.layers)
    for_each_tensor(layer, [&](TensorId id, const TensorSpec& spec) { shapes[id] = &spec.shape; });
  AdaptTimes adapts([&](TensorId id, const Format& from, const Format& to) -> Result<AdaptChoice> {
    AdaptChoice choice;
    if (shapes[id] != nullptr) choice.time_us = estimated_adapt_cost(*shapes[id], from, to);
    return choice;
  });
  SelectionRules estimates;
  estimates.is_repeatable = true;  // equal nets have equal plans
  // There are no measurements to look for among layers alike.
  estimates.cost = [](const LayerCandidates&, const Candidate& candidate) {
    return candidate.unit_us;
  };
  SN_ASSIGN_OR_RETURN(const Selections best,
                      select_paths(*problems.graph, layers, adapts, estimates));
  RoutinePath path;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const int chosen = best.paths[0].choice[l];
    if (chosen == 0) continue;  // the registry's default
    Choice choice = layers[l].candidates[static_cast<std::size_t>(chosen)].choice();
    choice.time_us = 0;
    path.layers.emplace(layers[l].layer.layer->id, std::move(choice));
  }
  return path;
}

}  // namespace softneuro
