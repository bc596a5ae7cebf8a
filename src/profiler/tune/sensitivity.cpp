#include "profiler/tune/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/graph/graph_key.h"
#include "net/tuned_plan.h"
#include "profiler/measure/net_profile.h"
#include "verify/output_error.h"

namespace softneuro {
namespace {

constexpr double kNotMeasured = -1;
// Of an overflow, or of a plan that cannot run: like infinity, but the cache keeps it.
constexpr double kWorstPower = 1e12;

}  // namespace

double Sensitivity::of(std::size_t layer, const Candidate& candidate) const {
  const double squared = candidate.error * candidate.error;
  if (power_.empty() || power_[layer] < 0) return squared * usual_;
  return error_[layer] > 0 ? power_[layer] * squared / (error_[layer] * error_[layer])
                           : power_[layer];
}

Result<std::vector<std::vector<Tensor>>> Sensitivity::outputs_for(
    const Selection& selection) const {
  SN_ASSIGN_OR_RETURN(const RoutinePath path, space_.path_of(selection));
  SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(path));
  const auto inputs_of = [&](std::size_t s) -> Result<std::vector<Tensor>> { return samples_[s]; };
  return outputs_of(plan, samples_.size(), inputs_of, context_.job.runtime->allocator());
}

double Sensitivity::power_of(std::size_t layer, const Selection& rounded, const Selection& base) {
  const RowKey key = row_key(RowKind::sensitivity, digest_, space_.layers[layer].layer.layer->id,
                             space_.candidate_of(rounded, layer).key);
  if (const Profile* const row = context_.cache.find(key); row != nullptr) {
    ++from_cache_;
    return row->error;
  }
  Selection one = base;
  one.choice[layer] = rounded.choice[layer];
  const auto outputs = outputs_for(one);
  double power = kWorstPower;
  if (outputs.ok()) {
    OutputError error;
    for (std::size_t s = 0; s < outputs->size(); ++s) error.add(references_[s], (*outputs)[s]);
    power = std::min(std::pow(error.value(ErrorMetric::relative_rms), 2), kWorstPower);
    context_.cache.put(key, Profile{.error = power});
  }
  ++runs_;
  return power;
}

Status Sensitivity::measure(
    const Selection& rounded, const Selection& base, const std::vector<std::size_t>& samples,
    std::chrono::steady_clock::time_point end,
    const std::function<Status(std::size_t, std::size_t, std::size_t)>& on_layer) {
  samples_.clear();
  std::uint64_t digest = graph_key(*context_.job.graph);
  for (const std::size_t s : samples) {
    SN_ASSIGN_OR_RETURN(std::vector<Tensor> sample, context_.job.validation.at(s));
    samples_.push_back(std::move(sample));
    for (const Tensor& tensor : samples_.back())
      digest = digest * 31 + checksum(tensor.data(), tensor.bytes());
  }
  digest_ = digest;
  std::vector<std::size_t> order(space_.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t l) {
    return space_.candidate_of(rounded, l).is_float32() || rounded.choice[l] == base.choice[l];
  });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return space_.candidate_of(rounded, a).error > space_.candidate_of(rounded, b).error;
  });
  SN_ASSIGN_OR_RETURN(references_, outputs_for(base));
  power_.assign(space_.layers.size(), kNotMeasured);
  error_.assign(space_.layers.size(), 0.0);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && std::chrono::steady_clock::now() > end) break;
    const std::size_t l = order[i];
    SN_RETURN_IF_ERROR(on_layer(i, order.size(), l));
    power_[l] = power_of(l, rounded, base);
    error_[l] = space_.candidate_of(rounded, l).error;
    if (error_[l] > 0) ratios.push_back(power_[l] / (error_[l] * error_[l]));
  }
  if (!ratios.empty()) {
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    usual_ = *middle;
  }
  context_.cache.flush();
  return {};
}

}  // namespace softneuro
