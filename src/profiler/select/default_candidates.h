// What a default plan considers for each layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "profiler/select/candidates.h"

namespace softneuro {

// Candidates that were not measured: `unit_us` is estimated_cost() (default_path.h).
class DefaultCandidates {
 public:
  // Only schemas that match `schemas` (patterns; empty: all). Both outlive this.
  DefaultCandidates(const RoutineContext& context, std::span<const std::string> schemas)
      : context_(context), schemas_(schemas) {}

  // The registry's default choice first, then the routine of highest rank in each of the other
  // formats.
  std::vector<Candidate> of(const Problem& problem) const;
  // The routine of highest rank in just these formats, added unless it is there already.
  void add_in(const FormatTuple& formats, const Problem& problem,
              std::vector<Candidate>& candidates) const;

 private:
  void add_float32(const Problem& problem, std::vector<Candidate>& candidates) const;
  void add_others(const Problem& problem, std::vector<Candidate>& candidates) const;
  bool is_eligible(const Routine& routine) const;
  std::vector<const Routine*> ranked(const Problem& problem) const;

  RoutineContext context_;
  std::span<const std::string> schemas_;
};

}  // namespace softneuro
