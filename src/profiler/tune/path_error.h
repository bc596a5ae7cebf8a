// The error of whole paths on the validation samples (TuneCriteria).
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "profiler/tune/finalist.h"

namespace softneuro {

class PathError {
 public:
  explicit PathError(TuneContext& context) : context_(context) {}

  // Runs the validation samples; fills in the finalist's error. Gives whether it meets the limit.
  Result<bool> measure(Finalist& finalist);
  // The same, but where the cache knows that the path breaks the limit nothing is run.
  Result<bool> keeps_limit(Finalist& finalist);
  // Of all paths so far.
  double least() const { return least_; }

 private:
  double limit() const { return context_.options.max_error.value_or(kDefaultMaxError); }
  Status run_samples(Finalist& finalist);
  NamedTensors named(const std::vector<Tensor>& outputs) const;
  Result<double> score_of(const std::vector<NamedTensors>& outputs_by_sample) const;
  const std::string& validation_digest();

  TuneContext& context_;
  std::optional<double> reference_score_;
  double least_ = std::numeric_limits<double>::infinity();
  std::string validation_digest_;
};

}  // namespace softneuro
