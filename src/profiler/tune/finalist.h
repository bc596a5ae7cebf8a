// Whole paths that are run end to end.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "profiler/tune/memory_limit.h"
#include "verify/output_error.h"

namespace softneuro {

struct Finalist {
  Selection selection;  // empty: a path of default choices
  RoutinePath path;
  // End to end, and two standard errors of it; 0 and infinity: not known.
  double time_us = 0;
  double uncertainty_us = INFINITY;
  std::size_t memory = 0;  // MemoryLimit::memory_of(path)
  double error = 0;        // by TuneCriteria
  ErrorInterval interval;
  OutputError errors;

  bool is_default() const { return selection.choice.empty(); }
  bool is_timed() const { return std::isfinite(uncertainty_us); }
};

// Whether the first takes less time, by more than the noise of both. False where one is not known.
inline bool is_faster(const Finalist& one, const Finalist& other) {
  return one.time_us + std::hypot(one.uncertainty_us, other.uncertainty_us) < other.time_us;
}

// Nothing where the path takes more memory than the limit allows.
Result<std::optional<Finalist>> make_finalist(TuneContext& context, const MemoryLimit& memory,
                                              const Selection& selection);
// Default choices on `path`, or what the net's own path has.
Result<Finalist> default_finalist(const MemoryLimit& memory, const RoutinePath& path);

// The best paths, and what they have to beat: the best of each kind alone, as measured and not as
// predicted; TuneContext::known_path, where there is one; and, last, the untuned net.
Result<std::vector<Finalist>> find_finalists(TuneContext& context, const MemoryLimit& memory);

// Whether the caller allows the finalist. Default choices must fit into the memory, and the schemas
// must have what their path names, or leaves to the registry. Layers that none of the schemas
// computes take it anyway.
bool is_allowed(const TuneContext& context, const Finalist& finalist);

// About how long benchmark_finalists() takes at most.
double final_seconds(const TuneContext& context);
// Runs the finalists end to end, interleaved; fills in their times, unless a time limit ends the
// benchmark before anything is known. The cache knows final benchmarks as a whole: times of
// different hours are not compared.
Status benchmark_finalists(TuneContext& context, std::vector<Finalist>& finalists);

// The fastest first. Stable: what the noise cannot tell apart stays in the solver's order, so that
// plans do not flap, and a benchmark on a busy machine does not outvote it. But `now`, what the net
// runs on otherwise, comes before all that is not certainly faster. Those that the caller did not
// allow come last.
void put_in_order(const TuneContext& context, std::vector<Finalist>& finalists,
                  const Finalist& now);

}  // namespace softneuro
