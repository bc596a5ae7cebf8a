#include "plugins/onednn/weighted_answers.h"

#include <utility>

#include "plugins/onednn/answer_cache.h"

namespace softneuro::onednn {

WeightedAnswers::WeightedAnswers(const WeightedLayer& layer, Problem problem, int threads,
                                 WeightedTask task, std::vector<FusedOps> ways)
    : layer_(layer),
      problem_([&] {
        for (TensorSpec& input : problem.inputs) input.value = Tensor();
        return std::move(problem);
      }()),
      threads_(threads),
      task_(std::move(task)),
      ways_(std::move(ways)) {}

bool WeightedAnswers::has_choices() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_choices_)
    has_choices_ =
        or_none<bool>([&] { return onednn::has_choices(layer_, problem_, task_, ways_); });
  return *has_choices_;
}

const std::vector<WeightedChoice>& WeightedAnswers::choices() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!choices_)
    choices_ = or_none<std::vector<WeightedChoice>>(
        [&] { return weighted_choices(layer_, problem_, threads_, task_, ways_); });
  return *choices_;
}

std::optional<WeightedChoice> WeightedAnswers::named(const RoutineParams& params) const {
  using Named = std::optional<WeightedChoice>;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] = named_.try_emplace(params.str());
  if (!is_new) return entry->second;
  Named choice = or_none<Named>(
      [&] { return named_choice(layer_, problem_, threads_, task_, ways_, params); });
  entry->second = choice;
  // Descriptors of a convolution take up to some hundred kilobytes.
  if (entry->second) entry->second->descs.clear();
  return choice;
}

}  // namespace softneuro::onednn
