// A net's layers with their candidates: what the tuner searches.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/select/candidates.h"
#include "profiler/select/selection.h"

namespace softneuro {

// Of candidates that are no views: a device, and what is computed in there.
using Kind = std::pair<DeviceId, Precision>;
Kind kind_of(const Candidate& candidate);

struct SearchSpace {
  std::shared_ptr<const Graph> graph;
  std::vector<LayerCandidates> layers;
  AdaptTimes adapts;

  // Fills in index_of; call it when `layers` is.
  void make_index();

  Result<Selections> select(const SelectionRules& rules) {
    return select_paths(*graph, layers, adapts, rules);
  }
  Result<RoutinePath> path_of(const Selection& selection) {
    return make_path(*graph, layers, adapts, selection);
  }
  const Candidate& candidate_of(const Selection& selection, std::size_t layer) const {
    return layers[layer].candidates[static_cast<std::size_t>(selection.choice[layer])];
  }
  // The index of `layer`, which is one of `layers`.
  std::size_t place_of(const LayerCandidates& layer) const {
    return static_cast<std::size_t>(&layer - layers.data());
  }
  // Those that candidates have, those of fallbacks included or not.
  std::set<Kind> kinds(bool fallbacks = true) const;

  std::unordered_map<LayerId, std::size_t> index_of;  // in `layers`
};

// SelectionRules::allowed: candidates of `kind`. Of layers that have none: those of its device and
// data type, which other arithmetic than the type's leaves alone; else the float32 ones of its
// device; else those of the host.
std::function<bool(const LayerCandidates&, const Candidate&)> only_kind(const Kind& kind);
// The same: only float32 where a layer has it; the rest is computed as it must be.
bool only_float32(const LayerCandidates& layer, const Candidate& candidate);

}  // namespace softneuro
