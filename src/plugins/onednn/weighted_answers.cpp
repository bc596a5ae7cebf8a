#include "plugins/onednn/weighted_answers.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
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

std::optional<WeightedChoice> WeightedAnswers::find(const std::string& key,
                                                    const RoutineParams& params) const {
  using Named = std::optional<WeightedChoice>;
  const auto [entry, is_new] = named_.try_emplace(key);
  if (!is_new) return entry->second;
  Named choice = or_none<Named>(
      [&] { return named_choice(layer_, problem_, threads_, task_, ways_, params); });
  entry->second = choice;
  if (entry->second) entry->second->descs.clear();
  return choice;
}

std::optional<WeightedChoice> WeightedAnswers::named(const RoutineParams& params) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto choice = find(params.str(), params);
  if (choice) choice->descs.clear();
  return choice;
}

Result<std::shared_ptr<const WeightedSolution>> WeightedAnswers::solution(
    const RoutineParams& params) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = params.str();
  std::weak_ptr<const WeightedSolution>& known = solutions_[key];
  if (auto solution = known.lock()) return solution;
  auto choice = find(key, params);
  if (!choice) return invalid_argument("oneDNN: no implementation for parameters {}", key);
  const auto fused = std::find_if(ways_.begin(), ways_.end(),
                                  [&](const FusedOps& ops) { return ops.taken == choice->fused; });
  SN_ASSIGN_OR_RETURN(WeightedWork work,
                      WeightedWork::make(layer_, problem_, task_, *choice, *fused));
  choice->descs.clear();
  auto solution = std::make_shared<const WeightedSolution>(
      WeightedSolution{*std::move(choice), *fused, std::move(work)});
  known = solution;
  return solution;
}

RoutineParams WeightedImplementation::default_params() const {
  const auto& choices = answers_->choices();
  return choices.empty() ? RoutineParams{} : choice_params(choices.front(), context().threads());
}

ParamSpace WeightedImplementation::param_space() const {
  return choice_space(answers_->choices(), problem(), context().threads());
}

}  // namespace softneuro::onednn
