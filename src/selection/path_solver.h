// The net as the solver (dprs/) sees it: what may compute each layer, and what that costs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/routine/routine_path.h"
#include "dprs/dprs.h"

namespace softneuro {

// What adapts cost: (tensor of the graph, from, to) → choice.
class AdaptTimes {
 public:
  // Measures or estimates what is not known yet.
  using Measure = std::function<Result<AdaptChoice>(TensorId, const Format&, const Format&)>;
  explicit AdaptTimes(Measure measure = {}) : measure_(std::move(measure)) {}

  Result<AdaptChoice> of(TensorId tensor, const Format& from, const Format& to);
  // A time that was measured inside the net replaces the one measured alone.
  void set_net_time(TensorId tensor, const Format& from, const Format& to, double us);

 private:
  Measure measure_;
  std::map<std::string, AdaptChoice> known_;
};

// A way to compute a layer.
struct LayerOption {
  int number = 0;                         // the caller's, for Selection::choice
  const FormatTuple* formats = nullptr;   // outlives the search
  double cost = 0;                        // in the unit of the adapts' times
  std::size_t workspace = 0, packed = 0;  // bytes; 0 unless sizes count
};

struct LayerOptions {
  const LayerProblem* layer = nullptr;  // outlives the search
  std::vector<LayerOption> options;
};

// A path: the number of an option per layer.
struct Selection {
  std::vector<int> choice;
  double cost_us = 0;
  std::size_t memory = 0;  // as the solver counts it; 0 unless sizes count
  bool operator==(const Selection& other) const { return choice == other.choice; }
};

struct Selections {
  std::vector<Selection> paths;  // best first
  double gap = 0;
};

// The best paths of `graph`. Layers that are not in `layers` (data-dependent ones) take and give
// the model's formats. `counts_memory`: tensors, workspace and packed weights count
// (dprs::peak_memory); without it the limits on memory must be unset. Errors: unsupported where a
// layer has no option or no path is within the limits; out_of_memory.
Result<Selections> solve_paths(const Graph& graph, const std::vector<LayerOptions>& layers,
                               AdaptTimes& adapts, const dprs::Limits& limits,
                               bool counts_memory = false);

}  // namespace softneuro
