// What the library says to one problem of a layer with weights: asked once, for all layers of a net
// that pose it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plugins/onednn/weighted_work.h"

namespace softneuro::onednn {

// One way to compute the problem.
struct WeightedSolution {
  WeightedChoice choice;  // without descriptors
  FusedOps fused;
  WeightedWork work;
};

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
  // The choice that `params` name, without descriptors.
  std::optional<WeightedChoice> named(const RoutineParams& params) const;
  // The choice that `params` name, worked out: shared while somebody has it, since descriptors of a
  // convolution take up to some hundred kilobytes. invalid_argument if there is none.
  Result<std::shared_ptr<const WeightedSolution>> solution(const RoutineParams& params) const;

 private:
  // With descriptors if it is asked for the first time. Precondition: the mutex is held.
  std::optional<WeightedChoice> find(const std::string& key, const RoutineParams& params) const;

  const WeightedLayer& layer_;
  const Problem problem_;
  const int threads_;
  const WeightedTask task_;
  const std::vector<FusedOps> ways_;
  mutable std::mutex mutex_;  // held while the library is asked
  mutable std::optional<bool> has_choices_;
  mutable std::optional<std::vector<WeightedChoice>> choices_;
  mutable std::map<std::string, std::optional<WeightedChoice>> named_;
  mutable std::map<std::string, std::weak_ptr<const WeightedSolution>> solutions_;
};

// One layer, whose parameters are what the library has for it.
class WeightedImplementation : public Implementation {
 public:
  // `layer` lives as long as the process.
  WeightedImplementation(ProblemPtr problem, const RoutineContext& context,
                         const WeightedLayer& layer, std::shared_ptr<const WeightedAnswers> answers)
      : Implementation(std::move(problem), context), layer_(layer), answers_(std::move(answers)) {}
  RoutineParams default_params() const final;
  ParamSpace param_space() const final;

 protected:
  const WeightedLayer& layer() const { return layer_; }
  const WeightedAnswers& answers() const { return *answers_; }

 private:
  const WeightedLayer& layer_;
  std::shared_ptr<const WeightedAnswers> answers_;
};

}  // namespace softneuro::onednn
