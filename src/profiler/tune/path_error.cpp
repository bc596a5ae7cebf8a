#include "profiler/tune/path_error.h"

#include <algorithm>
#include <cmath>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "verify/verification.h"

namespace softneuro {
namespace {

constexpr double kWorstError = 1e12;  // in the cache, for infinity

}  // namespace

Result<bool> PathError::measure(Finalist& finalist) {
  SN_RETURN_IF_ERROR(run_samples(finalist));
  least_ = std::min(least_, finalist.error);
  return finalist.error <= limit();
}

// Fills in the finalist's error.
Status PathError::run_samples(Finalist& finalist) {
  finalist.errors = OutputError();
  if (context_.job.validation.empty()) return {};
  SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(finalist.path));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  std::vector<NamedTensors> outputs_by_sample;
  for (std::size_t s = 0; s < context_.job.validation.size(); ++s) {
    SN_RETURN_IF_ERROR(context_.check_cancelled());
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, context_.job.validation.at(s));
    std::vector<Tensor> outputs(plan->outputs().size());
    SN_RETURN_IF_ERROR(session.run(inputs, outputs));
    finalist.errors.add(context_.job.references[s], outputs);
    if (!context_.options.criteria.score) continue;
    for (Tensor& output : outputs) {  // views of the session's memory, which the next run reuses
      SN_ASSIGN_OR_RETURN(output, output.clone(context_.job.runtime->allocator()));
    }
    outputs_by_sample.push_back(named(outputs));
  }
  finalist.error = finalist.errors.value(context_.options.criteria.metric);
  finalist.interval = finalist.errors.interval(context_.options.criteria.metric);
  if (!context_.options.criteria.score) return {};
  if (!reference_score_) {
    std::vector<NamedTensors> references;
    for (const std::vector<Tensor>& outputs : context_.job.references)
      references.push_back(named(outputs));
    SN_ASSIGN_OR_RETURN(reference_score_, score_of(references));
  }
  SN_ASSIGN_OR_RETURN(const double score, score_of(outputs_by_sample));
  finalist.error = std::max(0.0, *reference_score_ - score);
  finalist.interval = {finalist.error, finalist.error};
  return {};
}

NamedTensors PathError::named(const std::vector<Tensor>& outputs) const {
  NamedTensors tensors;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    tensors.emplace(context_.job.graph->tensor(context_.job.graph->outputs[o]).name, outputs[o]);
  return tensors;
}

Result<double> PathError::score_of(const std::vector<NamedTensors>& outputs_by_sample) const {
  SN_ASSIGN_OR_RETURN(const double score, context_.options.criteria.score(outputs_by_sample));
  if (std::isfinite(score)) return score;
  return invalid_argument(
      "the score of the outputs for {} samples is {}: it must be a finite number",
      outputs_by_sample.size(), score);
}

// Of the validation samples, by what float32 gives for them; made once.
const std::string& PathError::validation_digest() {
  if (validation_digest_.empty()) {
    std::string text;
    for (const std::vector<Tensor>& outputs : context_.job.references)
      text += fmt::format("{:x} ", output_digest(outputs));
    validation_digest_ = fmt::format("{:x}", checksum(text.data(), text.size()));
  }
  return validation_digest_;
}

Result<bool> PathError::keeps_limit(Finalist& finalist) {
  // What a score of the caller's depends on is not known.
  if (context_.options.criteria.score) return measure(finalist);
  const RowKey key =
      row_key(RowKind::path_error, static_cast<int>(context_.options.criteria.metric),
              validation_digest(), context_.path_key(finalist.path));
  const Profile* const known = context_.cache.find(key);
  if (known != nullptr && known->error > limit()) {
    finalist.error = known->error;
    least_ = std::min(least_, finalist.error);
    return false;
  }
  SN_ASSIGN_OR_RETURN(const bool keeps, measure(finalist));
  if (!std::isnan(finalist.error))
    context_.cache.put(key, Profile{.error = std::min(finalist.error, kWorstError)});
  return keeps;
}

}  // namespace softneuro
