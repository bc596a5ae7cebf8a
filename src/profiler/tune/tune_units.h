// The first stages: the candidates of every layer, and the times that they take alone (the
// SoftNeuro paper, section IV).
#pragma once

#include <optional>

#include "core/plan/net_problems.h"
#include "profiler/select/device_adapts.h"
#include "profiler/select/unit_profile.h"
#include "profiler/tune/tune_context.h"

namespace softneuro {

class UnitStage {
 public:
  // Outlives all use of context.space.adapts, which it measures.
  explicit UnitStage(TuneContext& context);

  // Fills in the space's layers, and the default path. unsupported with TuneSelection::strict where
  // the schemas leave a layer without a routine.
  Status find_candidates();
  // Fills in their times alone.
  Status profile();
  const UnitCounts& counts() const { return units_.counts(); }

 private:
  Status drop_what_half_cannot_hold();
  void put_promising_first();
  int default_candidate(const LayerCandidates& layer) const;
  void assume_default(LayerCandidates& layer) const;
  Status profile_layer(std::size_t index);
  Status fall_back_to_float32(std::size_t index);
  Result<AdaptChoice> measure_adapt(TensorId tensor, const Format& from, const Format& to);

  TuneContext& context_;
  UnitProfiler units_;
  std::optional<DeviceAdapts> device_adapts_;
  NetProblems problems_;
  std::vector<const TensorSpec*> specs_;  // per tensor of the graph: shape and quantisation
};

}  // namespace softneuro
