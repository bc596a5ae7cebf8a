// Childnets are tuned innermost first (the SoftNeuro paper, section III-D): the layers
// inside are problems of their own, with candidates that are measured like all others, and the best
// path inside is what the childnet is measured with.
#pragma once

#include <functional>

#include "core/childnet/childnet.h"
#include "profiler/select/candidates.h"

namespace softneuro {

// Gives a problem's constants their values.
using FillConstants = std::function<void()>;

// Fills in the times of a problem's candidates, as UnitProfiler::profile does. What is measured,
// not known, needs constants: until `fill` is called they are untouched memory, since filling it
// may be most of the work of a tuning from the cache.
using MeasureInside =
    std::function<Status(const Problem&, std::vector<Candidate>&, const FillConstants& fill)>;

struct ChildnetInside {
  bool known = false;        // `inner` names the best path
  bool within_bound = true;  // false: what was measured inside already takes longer than allowed
  std::string inner;         // the parameter's value
  double time_us = 0;        // of the layers inside, each alone: about what the whole cannot beat
};

// The best path inside `childnet` with the parameters `outer_params` (where `inner` is empty).
// Stops as soon as the best times of the layers seen so far add up to more than `bound_us`. Neither
// known nor out of bound: a layer was not measured (the time is up), or has no right candidate.
// Folded constants have random values here: they do not change times.
// `context`: of the layers inside.
Result<ChildnetInside> solve_inside(const RoutineContext& context,
                                    const ChildnetImplementation& childnet,
                                    const RoutineParams& outer_params, const CandidateRules& rules,
                                    double bound_us, Allocator& allocator,
                                    const MeasureInside& measure);

}  // namespace softneuro
