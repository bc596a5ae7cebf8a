// Why layers are not computed in the other data types, and on the other devices, that tuning
// considered.
#include <algorithm>
#include <cmath>

#include "profiler/tune/tuner.h"

namespace softneuro {
const char* to_string(NotChosen::Reason reason) noexcept {
  switch (reason) {
    case NotChosen::Reason::no_routine:
      return "no routine";
    case NotChosen::Reason::wrong_results:
      return "wrong results";
    case NotChosen::Reason::not_measured:
      return "not measured";
    case NotChosen::Reason::error_limit:
      return "error limit";
    case NotChosen::Reason::slower:
      return "slower";
    case NotChosen::Reason::whole_net:
      break;
  }
  return "net slower or over the memory limit";
}

std::vector<NotChosen> Tuner::not_chosen(const std::set<Kind>& kinds, const Selection& selection,
                                         std::size_t layer) const {
  std::vector<NotChosen> rows;
  const LayerCandidates& all = layers_[layer];
  const Candidate& chosen = candidate_of(selection, layer);
  if (chosen.routine == nullptr) return rows;  // a view
  for (const Kind& kind : kinds) {
    if (kind == kind_of(chosen)) continue;
    NotChosen row;
    row.kind = fmt::format("{}:{}", kind.first.c_str(), to_string(kind.second));
    const Candidate* best = nullptr;
    for (const Candidate& candidate : all.candidates) {
      if (candidate.routine == nullptr || kind_of(candidate) != kind) continue;
      const bool better = best == nullptr || (best->wrong && !candidate.wrong) ||
                          (best->wrong == candidate.wrong && candidate.time_us() < best->time_us());
      if (better) best = &candidate;
    }
    if (best != nullptr) {
      const double us = best->time_us();
      const bool is_measured = std::isfinite(us) && !best->assumed && !chosen.assumed;
      row.routine = best->str();
      if (is_measured) row.time_us = us;
      row.reason = best->wrong                            ? NotChosen::Reason::wrong_results
                   : is_put_back(selection, layer, *best) ? NotChosen::Reason::error_limit
                   : !is_measured                         ? NotChosen::Reason::not_measured
                   : us >= chosen.time_us()               ? NotChosen::Reason::slower
                                                          : NotChosen::Reason::whole_net;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Whether the layer is in the data type of `candidate` in the fastest path, and not in the chosen
// one.
bool Tuner::is_put_back(const Selection& selection, std::size_t layer,
                        const Candidate& candidate) const {
  if (!sensitivity_base_) return false;
  const Candidate& rounded = candidate_of(sensitivity_rounded_, layer);
  return kind_of(rounded) == kind_of(candidate) &&
         kind_of(rounded) != kind_of(candidate_of(selection, layer));
}

}  // namespace softneuro
