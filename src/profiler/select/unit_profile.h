// Unit profiling: each candidate alone, on real shapes, weights and threads
// (docs/internals/measuring.md).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "profiler/cache/profile_cache.h"
#include "profiler/measure/budget.h"
#include "profiler/measure/kernel_bench.h"
#include "profiler/select/candidates.h"
#include "profiler/select/control_runs.h"

namespace softneuro {

struct UnitCounts {
  std::size_t measured = 0;
  std::size_t from_cache = 0;
  std::size_t rejected = 0;
};

class UnitProfiler {
 public:
  // All but `exhaustive` outlive it.
  UnitProfiler(Runtime& core, ProfileCache& cache, const TuneBudget& budget, PoolBarrier& barrier,
               ColdCaches& caches, bool exhaustive)
      : core_(core),
        cache_(cache),
        budget_(budget),
        barrier_(barrier),
        caches_(caches),
        exhaustive_(exhaustive) {}

  // Which candidates count inside of childnets.
  CandidateRules inside_rules;

  // Called for every candidate before it is measured.
  std::function<void(const Candidate&, double best_us)> on_candidate;
  std::function<void(LogLevel, std::string)> warn;

  // Fills in unit_us, error, wrong and pruned of all candidates, from the cache where it knows
  // them. A candidate whose results differ from the reference (the default choice in the model's
  // own formats) beyond the tolerance of its data type is marked wrong. cancelled if the budget
  // says so; when its time is up, candidates that were not reached keep infinity. So do childnets
  // whose layers inside, each with its best candidate, take clearly longer than the best of all.
  Status profile(const Problem& model, std::vector<Candidate>& candidates);

  // The fastest adapt between two formats of a tensor: routine, parameters, time. Kept per
  // (shape, formats, quantisation).
  Result<AdaptChoice> profile_adapt(const TensorSpec& tensor, const Format& from, const Format& to);

  const UnitCounts& counts() const { return counts_; }

 private:
  struct Control;
  Status measure(const Problem& model, Candidate& candidate, double best_us,
                 std::optional<Control>& control);
  double time_us(KernelBench& bench, int batch);
  void fill_constants();
  Status prepare_reference(const Problem& model);
  Result<std::vector<Tensor>> inputs_as(const Problem& problem);
  void forget_problem();
  Status choose_inside(const Problem& model, Candidate& candidate, double best_us);
  std::string row_key(const Candidate& candidate) const;
  bool from_cache(Candidate& candidate);
  Result<double> error_of(const Problem& model, const Candidate& candidate, KernelBench& bench);
  double time_control(Control& control);
  void correct_disturbed(std::optional<Control>& control);
  void drop(const Problem& model, Candidate& candidate, const Status& status);
  void tell_wrong(const Problem& model);
  void keep_all();
  void keep(const Candidate& candidate, double spread_us);

  Runtime& core_;
  ProfileCache& cache_;
  const TuneBudget& budget_;
  PoolBarrier& barrier_;
  ColdCaches& caches_;
  bool exhaustive_;
  ControlRuns controls_;
  std::map<Candidate*, double> unkept_;   // measured, not in the cache yet: spread
  bool cold_ = false;                     // how the problem at hand is measured
  int depth_ = 0;                         // of the childnet whose inside is measured
  std::function<void()> fill_constants_;  // there, before anything is measured; once
  UnitCounts counts_;
  std::vector<std::string> wrong_;  // candidates of the problem at hand, and by how much
  std::map<std::string, AdaptChoice> adapts_;
  std::vector<Tensor> inputs_;  // of the problem at hand, in the model's formats
  std::map<std::string, Tensor> inputs_by_format_;
  std::vector<Tensor> reference_;  // its outputs; empty until they are needed
  LastPacking last_packing_;       // of its constants
};

}  // namespace softneuro
