// Limits on memory: paths that the plain minimum does not respect.
#pragma once

#include "dprs/dprs.h"
#include "dprs/engine.h"

namespace softneuro::dprs {

// limits.max_memory or least_memory is set. Errors: unsupported, with the nearest found.
Result<Solution> solve_limited(const Net& net, Engine& engine, const Limits& limits);

// Shared with solve(): the error where nothing was found, and the outcome as part of a solution.
Status no_path(const Outcome& outcome);
void describe(const Outcome& outcome, Solution& solution);

}  // namespace softneuro::dprs
