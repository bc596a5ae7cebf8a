// From measured candidates to the fastest routine path: the net as the solver sees it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dprs/dprs.h"
#include "profiler/measure/constants.h"
#include "profiler/select/candidates.h"

namespace softneuro {

// Time of adapts as measured: (tensor of the graph, from, to) → choice.
class AdaptTimes {
 public:
  // Measures what is not known yet.
  using Measure = std::function<Result<AdaptChoice>(TensorId, const Format&, const Format&)>;
  explicit AdaptTimes(Measure measure = {}) : measure_(std::move(measure)) {}

  Result<AdaptChoice> of(TensorId tensor, const Format& from, const Format& to);
  // A time that was measured inside the net replaces the one measured alone.
  void set_net_time(TensorId tensor, const Format& from, const Format& to, double us);

 private:
  Measure measure_;
  std::map<std::string, AdaptChoice> known_;
};

// A path, by candidate: index into LayerCandidates::candidates per layer.
struct Selection {
  std::vector<int> choice;
  double cost_us = 0;
  std::size_t memory = 0;  // as the solver counts it; 0 unless SelectionRules::counts_memory
  bool operator==(const Selection& other) const { return choice == other.choice; }
};

// By what part of it a mean time inside the net may be too long: two standard deviations, at
// samples that scatter by `noise`.
double uncertainty(const MeanTime& inside, double noise);

struct SelectionRules {
  int k = 1;
  double work = 0;             // dprs::Limits::work; 0: its default
  bool counts_memory = false;  // tensors, workspace and packed weights (dprs::peak_memory)
  std::size_t max_memory = 0;  // of that; 0: no limit
  bool least_memory = false;   // dprs::Limits::least_memory, with counts_memory
  // Whether a candidate may be taken; null: all that were measured and are right.
  std::function<bool(const LayerCandidates&, const Candidate&)> allowed;
  // Cost of a candidate; null: its time inside the net, the mean over layers with the same problem.
  // One that was not measured there is not taken where another one of the layer was, unless it is
  // optimistic or memory is counted. It costs its time alone and the slowdown that the layer's
  // other candidates showed inside (there weights are not in the cache, for one thing).
  std::function<double(const LayerCandidates&, const Candidate&)> cost;
  // Whether a candidate costs the least that it may: that time less its uncertainty(). Null: none
  // does.
  std::function<bool(const LayerCandidates&, const Candidate&)> optimistic;
  double noise = constants::kUsualNoise;
};

struct Selections {
  std::vector<Selection> paths;  // best first
  double gap = 0;
};

// The best paths of the net under `rules`. Layers of the graph that are not in `layers` (dynamic
// ones) take and give the model's formats.
Result<Selections> select_paths(const Graph& graph, const std::vector<LayerCandidates>& layers,
                                AdaptTimes& adapts, const SelectionRules& rules);

// The path as plans take it, adapts included.
Result<RoutinePath> make_path(const Graph& graph, const std::vector<LayerCandidates>& layers,
                              AdaptTimes& adapts, const Selection& selection);

}  // namespace softneuro
