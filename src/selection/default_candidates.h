// What a default plan considers for each layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/routine/routine_path.h"

namespace softneuro {

struct DefaultCandidate {
  const Routine* routine = nullptr;  // null: a view
  RoutineParams params;
  FormatTuple formats;
  double cost = 0;  // estimated_cost() (default_path.h)

  // Its time is 0: the cost is no time.
  Choice choice() const;
};

class DefaultCandidates {
 public:
  // Only schemas that match `schemas` (patterns; empty: all). Both outlive this.
  DefaultCandidates(const RoutineContext& context, std::span<const std::string> schemas)
      : context_(context), schemas_(schemas) {}

  // The registry's default choice first, then the routine of highest rank in each of the other
  // formats.
  std::vector<DefaultCandidate> of(const Problem& problem) const;
  // The routine of highest rank in just these formats, added unless it is there already.
  void add_in(const FormatTuple& formats, const Problem& problem,
              std::vector<DefaultCandidate>& candidates) const;

 private:
  void add_float32(const Problem& problem, std::vector<DefaultCandidate>& candidates) const;
  void add_others(const Problem& problem, std::vector<DefaultCandidate>& candidates) const;
  bool is_eligible(const Routine& routine) const;
  std::vector<const Routine*> ranked(const Problem& problem) const;

  RoutineContext context_;
  std::span<const std::string> schemas_;
};

}  // namespace softneuro
