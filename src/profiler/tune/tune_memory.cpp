// The limit on memory. The solver counts the bytes that are alive at each step; views, work in
// place and the packing of arenas are not in its count. So its bound follows from what plans really
// take.
#include <map>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Plans that are made to find the solver's bound, after the fastest and the smallest.
constexpr int kMemoryRounds = 8;
// Paths whose size differs by less than one in so many are alike.
constexpr std::size_t kMemorySteps = 64;

}  // namespace

std::size_t plan_memory(const Plan& plan) {
  const PlanImpl& impl = impl_of(plan);
  std::size_t bytes = 0;
  for (const PlannedDevice& planned : impl.devices) bytes += planned.arena_bytes;
  std::map<const std::byte*, std::size_t> packed;  // layers may share them
  for (const Step& step : impl.steps)
    if (!step.packed.empty()) packed[step.packed.data()] = step.packed.size();
  for (const auto& [data, size] : packed) bytes += size;
  return bytes;
}

// What its plan takes; 0 where nothing limits it.
Result<std::size_t> Tuner::memory_of(const RoutinePath& path) const {
  if (options_.max_memory == 0) return std::size_t{0};
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, path, nullptr));
  return plan_memory(*plan);
}

// The best selection under `rules`, and what its plan takes.
Result<Tuner::Sized> Tuner::select_within(const SelectionRules& rules) {
  SN_ASSIGN_OR_RETURN(const Selections best, select_paths(*job_.graph, layers_, adapts_, rules));
  Sized sized{best.paths[0], 0};
  SN_ASSIGN_OR_RETURN(const RoutinePath path,
                      make_path(*job_.graph, layers_, adapts_, sized.selection));
  SN_ASSIGN_OR_RETURN(sized.memory, memory_of(path));
  return sized;
}

// The fastest selection under `rules` that keeps max_memory: between the fastest path, which may
// need too much, and the smallest that is found, the highest bound whose path meets the limit. The
// smallest does not depend on times: a limit that was named as possible is.
Result<Tuner::Fitting> Tuner::fit_memory(SelectionRules rules) {
  rules.max_memory = 0;
  rules.fallback.reset();
  SN_ASSIGN_OR_RETURN(const Sized fastest, select_within(rules));
  if (fastest.memory <= options_.max_memory) return Fitting{fastest.selection, 0, std::nullopt};
  rules.least_memory = true;
  SN_ASSIGN_OR_RETURN(const Sized smallest, select_within(rules));
  if (smallest.memory > options_.max_memory)
    return unsupported(
        "no plan takes at most {} bytes (arena and packed weights): the smallest found takes {}. "
        "Allow more, or more schemas",
        options_.max_memory, smallest.memory);
  rules.least_memory = false;
  rules.fallback = smallest.selection;
  Sized over = fastest;
  Fitting fit{smallest.selection, smallest.selection.memory, smallest.selection};
  for (int round = 0; round < kMemoryRounds; ++round) {
    const std::size_t fails = over.selection.memory;
    if (fails <= fit.bound + fit.bound / kMemorySteps) break;
    SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
    const std::size_t excess = over.memory - options_.max_memory;
    const bool is_first_guess = round == 0 && fit.bound + excess < fails;
    rules.max_memory = is_first_guess ? fails - excess : fit.bound + (fails - fit.bound) / 2;
    SN_ASSIGN_OR_RETURN(const Sized next, select_within(rules));
    if (next.memory > options_.max_memory) {
      over = next;
      continue;
    }
    fit.bound = rules.max_memory;
    fit.selection = next.selection;
  }
  return fit;
}

Status Tuner::find_memory_bound() {
  if (options_.max_memory == 0) return {};
  SN_ASSIGN_OR_RETURN(Fitting fit, fit_memory(rules()));
  memory_bound_ = fit.bound;
  smallest_ = std::move(fit.smallest);
  return {};
}

}  // namespace softneuro
