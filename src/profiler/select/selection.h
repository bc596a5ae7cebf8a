// From measured candidates to the fastest routine path.
#pragma once

#include <functional>
#include <vector>

#include "profiler/measure/constants.h"
#include "profiler/select/candidates.h"
#include "selection/path_solver.h"

namespace softneuro {

// By what part of it a mean time inside the net may be too long: two standard deviations, at
// samples that scatter by `noise`.
double uncertainty(const MeanTime& in_net, double noise);

struct SelectionRules {
  int k = 1;
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

// The best paths of the net under `rules`, by candidate: Selection::choice is an index into
// LayerCandidates::candidates. Errors as for solve_paths().
Result<Selections> select_paths(const Graph& graph, const std::vector<LayerCandidates>& layers,
                                AdaptTimes& adapts, const SelectionRules& rules);

// The path as plans take it, adapts included.
Result<RoutinePath> make_path(const Graph& graph, const std::vector<LayerCandidates>& layers,
                              AdaptTimes& adapts, const Selection& selection);

}  // namespace softneuro
