// The search inside the net (the SoftNeuro paper, section V; docs/internals/tuner.md). Layers have
// other times there than alone, and a machine's speed drifts by more than many candidates differ.
// So the solver picks paths that differ in as many layers as possible, their runs are interleaved,
// and each step's time counts for its candidate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/measure/constants.h"
#include "profiler/measure/net_profile.h"
#include "profiler/tune/memory_limit.h"

namespace softneuro {

class NetSearch {
 public:
  NetSearch(TuneContext& context, const MemoryLimit& memory) : context_(context), memory_(memory) {}

  // What the search and the final benchmark after it may take in all.
  static double most_seconds(const TuneContext& context);
  // Fills in the times that candidates and adapts take inside the net.
  Status run();

 private:
  struct Contender {
    Selection selection;
    NetBench bench;
    StepSamples samples;
    double run_us;
  };
  void recall();
  Result<bool> search_among(const std::string& what, const SelectionRules& rules);
  Result<bool> search_round(const SelectionRules& rules, std::size_t round, std::size_t rounds);
  Result<std::vector<Contender>> find_contenders(SelectionRules rules);
  Status run_round(std::vector<Contender>& contenders, double round_us, std::size_t round,
                   std::size_t rounds);
  void learn_from(const std::vector<Contender>& contenders);
  bool is_measured_in_net(const Selection& selection) const;

  TuneContext& context_;
  const MemoryLimit& memory_;
  std::map<RowKey, MeanTime> adapts_in_net_;  // as Candidate::in_net, by adapt_key()
  std::size_t searches_done_ = 0;             // that one included which runs
  double noise_ = constants::kUsualNoise;     // of samples inside the net, as last seen
};

}  // namespace softneuro
