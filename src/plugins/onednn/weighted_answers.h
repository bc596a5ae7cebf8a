// What the library says to one problem of a layer with weights: asked once, for all layers of a net
// that pose it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plugins/onednn/weighted_layer.h"

namespace softneuro::onednn {

// Thread safe. Where the library fails, the answer is that it has nothing.
class WeightedAnswers {
 public:
  // `ways`: what to fuse, best first; none: the library lacks a post-op that has to be fused. The
  // values of constants do not count. `layer` lives as long as the process.
  WeightedAnswers(const WeightedLayer& layer, Problem problem, int threads, WeightedTask task,
                  std::vector<FusedOps> ways);

  // Whether choices() has any; asks for no more than that.
  bool has_choices() const;
  const std::vector<WeightedChoice>& choices() const;
  // The choice that `params` name. It has WeightedChoice::descs for who asks first: whoever wants
  // them keeps them.
  std::optional<WeightedChoice> named(const RoutineParams& params) const;

 private:
  const WeightedLayer& layer_;
  const Problem problem_;
  const int threads_;
  const WeightedTask task_;
  const std::vector<FusedOps> ways_;
  mutable std::mutex mutex_;  // held while the library is asked
  mutable std::optional<bool> has_choices_;
  mutable std::optional<std::vector<WeightedChoice>> choices_;
  mutable std::map<std::string, std::optional<WeightedChoice>> named_;
};

}  // namespace softneuro::onednn
