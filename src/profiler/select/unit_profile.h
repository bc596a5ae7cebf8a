// Unit profiling: each candidate alone, on real shapes, weights and threads
// (docs/internals/measuring.md).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "profiler/cache/profile_cache.h"
#include "profiler/measure/budget.h"
#include "profiler/measure/pool_barrier.h"
#include "profiler/select/candidates.h"

namespace softneuro {

struct UnitCounts {
  std::size_t measured = 0;
  std::size_t from_cache = 0;
  std::size_t rejected = 0;
};

class UnitProfiler {
 public:
  // All but `exhaustive` outlive it.
  UnitProfiler(Runtime& runtime, ProfileCache& cache, const TuneBudget& budget,
               PoolBarrier& barrier, bool exhaustive)
      : runtime_(runtime),
        cache_(cache),
        budget_(budget),
        barrier_(barrier),
        exhaustive_(exhaustive) {}

  // Which candidates count inside of childnets, and how many parameters of a routine are tried.
  CandidateRules rules;

  // Called for every candidate before it is measured.
  std::function<void(const Candidate&, double best_us)> on_candidate;
  std::function<void(LogLevel, std::string)> warn;

  // Fills in isolated_us, error, wrong and pruned of all candidates, from the cache where it knows
  // them, and adds those that parameter spaces propose in view of these. A candidate whose results
  // differ from the reference (the default choice in the model's own formats) beyond the tolerance
  // of its data type is marked wrong. cancelled if the budget says so; when its time is up,
  // candidates that were not reached keep infinity. So do childnets whose layers inside, each with
  // its best candidate, take clearly longer than the best of all.
  Status profile(const Problem& model, std::vector<Candidate>& candidates);

  // The fastest adapt between two formats of a tensor: routine, parameters, time. Kept per
  // (shape, formats, quantisation).
  Result<AdaptChoice> profile_adapt(const TensorSpec& tensor, const Format& from, const Format& to);

  const UnitCounts& counts() const { return counts_; }

 private:
  class ProblemProfile;
  bool from_cache(Candidate& candidate);
  void keep(const Candidate& candidate, double spread_us);
  Status measure_adapt(const TensorSpec& tensor, const Format& from,
                       const Implementation& implementation, Candidate& candidate, Tensor& input);

  Runtime& runtime_;
  ProfileCache& cache_;
  const TuneBudget& budget_;
  PoolBarrier& barrier_;
  bool exhaustive_;
  UnitCounts counts_;
  std::map<std::string, AdaptChoice> adapts_;
};

}  // namespace softneuro
