#include "profiler/tune/memory_limit.h"

#include <map>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

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

Result<std::size_t> MemoryLimit::memory_of(const RoutinePath& path) const {
  if (bytes() == 0) return std::size_t{0};
  SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(path));
  return plan_memory(*plan);
}

// The best selection under `rules`, and what its plan takes.
Result<MemoryLimit::Sized> MemoryLimit::select_sized(const SelectionRules& rules) const {
  SN_ASSIGN_OR_RETURN(const Selections best, context_.space.select(rules));
  Sized sized{best.paths[0], 0};
  SN_ASSIGN_OR_RETURN(const RoutinePath path, context_.space.path_of(sized.selection));
  SN_ASSIGN_OR_RETURN(sized.memory, memory_of(path));
  return sized;
}

// Between the fastest path, which may need too much, and the smallest that is found, the highest
// bound whose path meets the limit. The smallest does not depend on times: a limit that was named
// as possible is.
Result<MemoryLimit::Fit> MemoryLimit::fit(SelectionRules rules) const {
  rules.max_memory = 0;
  SN_ASSIGN_OR_RETURN(const Sized fastest, select_sized(rules));
  if (fastest.memory <= bytes()) return Fit{fastest.selection, 0, std::nullopt};
  rules.least_memory = true;
  SN_ASSIGN_OR_RETURN(const Sized smallest, select_sized(rules));
  if (smallest.memory > bytes())
    return unsupported(
        "no plan takes at most {} bytes ({:.3g} MiB) for arena and packed weights: the smallest "
        "found takes {} ({:.3g} MiB). Allow more, or more schemas",
        bytes(), mebibytes(bytes()), smallest.memory, mebibytes(smallest.memory));
  rules.least_memory = false;
  Sized over = fastest;
  Fit fit{smallest.selection, smallest.selection.memory, smallest.selection};
  for (int round = 0; round < constants::kMemoryPlans; ++round) {
    const std::size_t fails = over.selection.memory;
    const double as_large = (1 + constants::kLeastGain) * static_cast<double>(fit.bound);
    if (static_cast<double>(fails) <= as_large) break;
    SN_RETURN_IF_ERROR(context_.check_cancelled());
    const std::size_t excess = over.memory - bytes();
    const bool is_first_guess = round == 0 && fit.bound + excess < fails;
    rules.max_memory = is_first_guess ? fails - excess : fit.bound + (fails - fit.bound) / 2;
    SN_ASSIGN_OR_RETURN(const Sized next, select_sized(rules));
    if (next.memory > bytes()) {
      over = next;
      continue;
    }
    fit.bound = rules.max_memory;
    fit.selection = next.selection;
  }
  return fit;
}

Result<Selection> MemoryLimit::select(const SelectionRules& rules) const {
  SN_ASSIGN_OR_RETURN(Fit fit, this->fit(rules));
  return std::move(fit.selection);
}

Status MemoryLimit::find_bound() {
  if (bytes() == 0) return {};
  SN_ASSIGN_OR_RETURN(fit_, fit(rules()));
  return {};
}

SelectionRules MemoryLimit::rules() const {
  SelectionRules rules;
  rules.counts_memory = bytes() > 0;
  rules.max_memory = fit_.bound;
  return rules;
}

}  // namespace softneuro
