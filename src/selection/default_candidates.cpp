#include "selection/default_candidates.h"

#include <algorithm>
#include <cmath>

#include "selection/default_path.h"

namespace softneuro {
namespace {

// The formats that a default plan considers: the model's types, plain or channels-last. Blocked
// layouts were faster by a few percent at most where they were faster at all.
bool is_considered(const FormatTuple& formats, const FormatTuple& model) {
  const auto same_types = [](const std::vector<Format>& a, const std::vector<Format>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Format& x, const Format& y) {
      return x.type == y.type && (x.layout == Layout::plain || x.layout == Layout::channels_last);
    });
  };
  return same_types(formats.inputs, model.inputs) && same_types(formats.outputs, model.outputs);
}

// The model's formats with all real numbers in float32.
FormatTuple in_float32(FormatTuple formats) {
  for (std::vector<Format>* side : {&formats.inputs, &formats.outputs})
    for (Format& format : *side)
      if (format.present() && is_real(format.type)) format.type = DataType::float32;
  return formats;
}

DefaultCandidate candidate_of(const Implementation& implementation) {
  return {.routine = &implementation.routine(),
          .params = implementation.default_params(),
          .formats = formats_of(implementation.whole_problem()),
          .cost = estimated_cost(implementation)};
}

bool has_formats(const std::vector<DefaultCandidate>& candidates, const FormatTuple& formats) {
  return std::ranges::any_of(
      candidates, [&](const DefaultCandidate& candidate) { return candidate.formats == formats; });
}

}  // namespace

Choice DefaultCandidate::choice() const {
  return {.routine = routine == nullptr ? std::string() : routine->descriptor().str(),
          .params = params,
          .formats = formats};
}

std::vector<DefaultCandidate> DefaultCandidates::of(const Problem& problem) const {
  std::vector<DefaultCandidate> candidates;
  if (!device_.is_host()) candidates = on_device(problem);
  if (candidates.empty() || problem.type->is_view) {
    const std::vector<DefaultCandidate> host = on_host(problem);
    candidates.insert(candidates.begin(), host.begin(), host.end());
  }
  return candidates;
}

std::vector<DefaultCandidate> DefaultCandidates::on_device(const Problem& problem) const {
  const FormatTuple model = formats_of(problem);
  std::vector<DefaultCandidate> candidates;
  if (problem.type->is_view) {
    if (problem.inputs[0].constant) return {};
    DefaultCandidate view{.formats = model};
    view.formats.inputs[0].device = view.formats.outputs[0].device = device_;
    return {view};
  }
  for (const FormatTuple& types : {model, in_float32(model)}) {
    for (const Routine* routine : ranked(problem, device_))
      for (const FormatTuple& formats : routine->formats(problem)) {
        if (has_formats(candidates, formats) || !is_considered(formats, types)) continue;
        const auto made = context_.implement(*routine, with_formats(problem, formats));
        if (made.ok()) candidates.push_back(candidate_of(**made));
      }
    if (!candidates.empty()) break;
  }
  return candidates;
}

std::vector<DefaultCandidate> DefaultCandidates::on_host(const Problem& problem) const {
  DefaultCandidate plain{.formats = formats_of(problem), .is_implied = true};
  if (problem.type->is_view) return {plain};
  // Where nothing computes the layer, the plan says so.
  const auto usual = context_.default_choice(problem, schemas_);
  if (!usual.ok()) return {plain};
  plain.routine = &(*usual)->routine();
  if (std::isinf((*usual)->speed())) return {plain};
  plain.cost = estimated_cost(**usual);
  std::vector<DefaultCandidate> candidates = {plain};
  add_float32(problem, candidates);
  add_others(problem, candidates);
  return candidates;
}

// Where a layer of 16-bit numbers has nothing but cpu/naive: the default routine in float32.
void DefaultCandidates::add_float32(const Problem& problem,
                                    std::vector<DefaultCandidate>& candidates) const {
  const auto is_half = [](const TensorSpec& spec) {
    return spec.type == DataType::float16 || spec.type == DataType::bfloat16;
  };
  if (candidates[0].routine->facts().default_rank > 0 ||
      std::ranges::none_of(problem.outputs, is_half))
    return;
  for (const FormatTuple& formats : uniform_formats(problem, DataType::float32, Layout::plain)) {
    const auto wide = context_.default_choice(with_formats(problem, formats), schemas_);
    if (!wide.ok() || (*wide)->routine().facts().default_rank == 0) continue;
    candidates[0].cost /= kNaiveSpeed;
    candidates.push_back(candidate_of(**wide));
  }
}

// The best routine in each of the other formats.
void DefaultCandidates::add_others(const Problem& problem,
                                   std::vector<DefaultCandidate>& candidates) const {
  for (const Routine* routine : ranked(problem, {})) {
    if (routine->descriptor().layout != Layout::channels_last) continue;
    for (const FormatTuple& formats : routine->formats(problem)) {
      if (has_formats(candidates, formats) || !is_considered(formats, candidates[0].formats))
        continue;
      if (const auto made = context_.implement(*routine, with_formats(problem, formats)); made.ok())
        candidates.push_back(candidate_of(**made));
    }
  }
}

void DefaultCandidates::add_in(const FormatTuple& formats, const Problem& problem,
                               std::vector<DefaultCandidate>& candidates) const {
  if (problem.type->is_view || has_formats(candidates, formats)) return;
  for (const Routine* routine : ranked(problem, device_of(formats))) {
    const std::vector<FormatTuple> known = routine->formats(problem);
    if (std::ranges::find(known, formats) == known.end()) continue;
    const auto made = context_.implement(*routine, with_formats(problem, formats));
    if (!made.ok()) continue;
    candidates.push_back(candidate_of(**made));
    return;
  }
}

std::vector<DefaultCandidate> DefaultCandidates::instead_of(const Choice& choice,
                                                            const Problem& problem) const {
  if (problem.type->is_view) return of(problem);
  std::vector<DefaultCandidate> candidates;
  if (const Routine* const same = context_.registry().find(problem.type->name, choice.routine)) {
    const std::vector<FormatTuple> known = same->formats(problem);
    if (std::ranges::find(known, choice.formats) != known.end())
      if (const auto made = context_.implement(*same, with_formats(problem, choice.formats));
          made.ok())
        return {candidate_of(**made)};
  }
  add_in(choice.formats, problem, candidates);
  return candidates.empty() ? of(problem) : candidates;
}

// The routines of a device that may serve, besides the registry's default choice on the host, the
// best first.
std::vector<const Routine*> DefaultCandidates::ranked(const Problem& problem,
                                                      DeviceId device) const {
  std::vector<const Routine*> routines = context_.registry().routines(problem.type->name);
  std::erase_if(routines, [&](const Routine* routine) {
    return routine->descriptor().device != device || !is_eligible(*routine);
  });
  std::stable_sort(routines.begin(), routines.end(), [](const Routine* a, const Routine* b) {
    return a->facts().default_rank > b->facts().default_rank;
  });
  return routines;
}

// The host's routines of rank 0 serve where nothing else does, which is in the plain layout.
bool DefaultCandidates::is_eligible(const Routine& routine) const {
  const RoutineDescriptor& descriptor = routine.descriptor();
  const RoutineFacts facts = routine.facts();
  return facts.default_rank >= (descriptor.device.is_host() ? 1 : 0) && !facts.is_childnet &&
         is_default_schema(descriptor, schemas_);
}

}  // namespace softneuro
