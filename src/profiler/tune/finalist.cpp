#include "profiler/tune/finalist.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/error.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

Status add(TuneContext& context, const MemoryLimit& memory, const Selection& selection,
           std::vector<Finalist>& finalists) {
  for (const Finalist& known : finalists)
    if (known.selection == selection) return {};
  SN_ASSIGN_OR_RETURN(auto finalist, make_finalist(context, memory, selection));
  if (finalist) finalists.push_back(std::move(*finalist));
  return {};
}

}  // namespace

Result<std::optional<Finalist>> make_finalist(TuneContext& context, const MemoryLimit& memory,
                                              const Selection& selection) {
  Finalist finalist;
  finalist.selection = selection;
  SN_ASSIGN_OR_RETURN(finalist.path, context.space.path_of(selection));
  SN_ASSIGN_OR_RETURN(finalist.memory, memory.memory_of(finalist.path));
  if (finalist.memory > memory.bytes()) return std::optional<Finalist>();
  return std::optional<Finalist>(std::move(finalist));
}

Result<Finalist> default_finalist(const MemoryLimit& memory, const RoutinePath& path) {
  Finalist finalist;
  finalist.path = path;
  SN_ASSIGN_OR_RETURN(finalist.memory, memory.memory_of(path));
  return finalist;
}

Result<std::vector<Finalist>> find_finalists(TuneContext& context, const MemoryLimit& memory) {
  const TuneOptions& options = context.options;
  std::vector<Finalist> finalists;
  const auto add = [&](const Selection& selection) {
    return softneuro::add(context, memory, selection, finalists);
  };
  SelectionRules rules = memory.rules();
  rules.k = context.budget.expired() ? 1 : context.times_as_many(options.effort.finalists);
  SN_ASSIGN_OR_RETURN(const Selections best, context.space.select(rules));
  context.gap = best.gap;
  for (const Selection& selection : best.paths) SN_RETURN_IF_ERROR(add(selection));
  if (memory.smallest()) SN_RETURN_IF_ERROR(add(*memory.smallest()));
  if (const std::set<Kind> all = context.space.kinds(); all.size() > 1 && !context.budget.expired())
    for (const Kind& kind : all) {
      SelectionRules single = memory.rules();
      single.allowed = only_kind(kind);
      const Result<Selection> alone = memory.select(single);
      // Not ok: this kind cannot reach some layer, or takes too much memory.
      if (alone.ok()) SN_RETURN_IF_ERROR(add(*alone));
    }
  // The references' own plan, whose error is 0: it meets a limit below float32's rounding.
  if (options.max_error && !context.default_path.layers.empty()) {
    SN_ASSIGN_OR_RETURN(Finalist plain, default_finalist(memory, {}));
    finalists.push_back(std::move(plain));
  }
  if (context.known_path) {
    SN_ASSIGN_OR_RETURN(Finalist known, default_finalist(memory, *context.known_path));
    finalists.push_back(std::move(known));
  }
  SN_ASSIGN_OR_RETURN(Finalist untuned, default_finalist(memory, context.default_path));
  finalists.push_back(std::move(untuned));
  return finalists;
}

bool is_allowed(const TuneContext& context, const Finalist& finalist) {
  if (!finalist.is_default()) return true;
  if (finalist.memory > context.options.criteria.max_memory) return false;
  const Runtime& runtime = *context.job.runtime;
  return std::ranges::all_of(context.space.layers, [&](const LayerCandidates& layer) {
    const Layer& known = *layer.layer.layer;
    if (known.type->is_view) return true;
    if (layer.fallback && context.job.rules.selection.avoid.empty()) return true;
    const auto planned = finalist.path.layers.find(known.id);
    const Routine* routine = nullptr;
    if (planned != finalist.path.layers.end()) {
      routine = runtime.registry().find(known.type->name, planned->second.routine);
    } else {
      const auto usual =
          runtime.routine_context().default_choice(layer.layer.problem, runtime.schemas());
      if (!usual.ok()) return false;
      routine = &(*usual)->routine();
    }
    return is_allowed(context.job.rules, known.name, routine->descriptor());
  });
}

void put_in_order(const TuneContext& context, std::vector<Finalist>& finalists,
                  const Finalist& now) {
  double best_us = INFINITY;
  for (const Finalist& finalist : finalists)
    if (finalist.is_timed()) best_us = std::min(best_us, finalist.time_us);
  const bool may_stay = is_allowed(context, now);
  const std::string key = context.path_key(now.path);
  const auto place = [&](const Finalist& finalist) {
    const bool is_refused = !is_allowed(context, finalist);
    const bool is_unproven =
        may_stay && context.path_key(finalist.path) != key && !is_faster(finalist, now);
    const double least_us = finalist.time_us - finalist.uncertainty_us;
    return std::tuple(is_refused, is_unproven,
                      std::max(least_us, (1 + constants::kLeastGain) * best_us));
  };
  std::stable_sort(finalists.begin(), finalists.end(),
                   [&](const Finalist& a, const Finalist& b) { return place(a) < place(b); });
}

}  // namespace softneuro
