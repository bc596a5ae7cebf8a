// What rounding does to the net's outputs, layer by layer: the error that the solver is bound by
// where the fastest path breaks the limit, and which samples it shows on
// (docs/internals/accuracy.md).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/checksum.h"
#include "core/base/element.h"
#include "core/base/error.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

constexpr std::int64_t kNoiseNs = 3'000'000'000;  // at most this long, or a quarter of what is left

constexpr std::size_t kFewestSamples = 4, kMostSamples = 8;
constexpr double kNoiseShare = 0.9;  // of what all samples lose: in those that noise is measured on
constexpr double kWorstNoise = 1e18;  // of an overflow: like infinity, but can be added up and kept

// Power of output − reference by sample, in relation to the reference's over all samples, of the
// output where it is the largest. What overflows or gives an output of another shape is as bad as
// can be.
std::vector<double> relative_power(const std::vector<std::vector<Tensor>>& references,
                                   const std::vector<std::vector<Tensor>>& outputs) {
  std::vector<double> worst(references.size(), 0);
  for (std::size_t o = 0; o < references[0].size(); ++o) {
    if (!is_float(references[0][o].data_type())) continue;
    double power = 0;
    std::vector<double> errors;
    for (std::size_t s = 0; s < references.size(); ++s) {
      double& error = errors.emplace_back(0);
      if (!(outputs[s][o].shape() == references[s][o].shape())) {
        error = INFINITY;
        continue;
      }
      const TensorView r = view_of(references[s][o]), y = view_of(outputs[s][o]);
      for (std::int64_t i = 0; i < references[s][o].elements(); ++i) {
        const double expected = load(r, i), difference = load(y, i) - expected;
        if (!std::isfinite(expected)) continue;
        power += expected * expected;
        error += std::isfinite(difference) ? difference * difference : INFINITY;
      }
    }
    for (std::size_t s = 0; s < errors.size(); ++s)
      if (errors[s] > 0)
        worst[s] =
            std::max(worst[s], std::min(power > 0 ? errors[s] / power : kWorstNoise, kWorstNoise));
  }
  return worst;
}

}  // namespace

// Additive noise power; float32 is the reference.
double Tuner::error_proxy(const LayerCandidates& layer, const Candidate& candidate) const {
  if (candidate.is_float32()) return 0;
  const double unit = candidate.error * candidate.error;
  const std::size_t l = place_of(layer);
  if (noise_.empty() || !noise_[l].known) return unit * usual_noise_;
  // Another candidate than the measured one is scaled by the ratio of their unit errors.
  const OutputNoise& noise = noise_[l];
  const double scale = noise.unit_error > 0 ? candidate.error / noise.unit_error : 1;
  return noise.power * std::clamp(scale * scale, 0.25, 4.0);
}

// The samples that rounding affects most: those with nine tenths of the evaluated paths' error,
// four to eight of them. Others would show next to nothing of a layer's noise.
std::vector<std::size_t> Tuner::most_affected_samples() const {
  std::vector<double> error = typical_parts().error;
  // What overflows is not typical.
  if (std::all_of(error.begin(), error.end(), [](double e) { return e == 0; }))
    error = evaluated_.front().parts.error;
  std::vector<std::size_t> order(error.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return error[a] > error[b]; });
  const double all = std::reduce(error.begin(), error.end());
  double some = 0;
  std::size_t count = 0;
  while (count < order.size() && count < kMostSamples &&
         (count < kFewestSamples || some < kNoiseShare * all))
    some += error[order[count++]];
  order.resize(count);
  return order;
}

// The path's error on the noise samples, by sample, against that of `noise_references_`; fills
// those in if they are not there.
Result<std::vector<double>> Tuner::noise_at_outputs(const Selection& selection) {
  SN_ASSIGN_OR_RETURN(const RoutinePath path, make_path(*job_.graph, layers_, adapts_, selection));
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, path, nullptr));
  SN_ASSIGN_OR_RETURN(auto all, outputs_of(plan, noise_samples_, job_.core->allocator()));
  if (noise_references_.empty()) {
    noise_references_ = std::move(all);
    return std::vector<double>(noise_samples_.size(), 0.0);
  }
  return relative_power(noise_references_, all);
}

// By noise sample; from the cache if it is there. Nothing if the path cannot be run.
std::vector<double> Tuner::noise_of_layer(std::size_t layer, const Selection& worst,
                                          const Selection& base, std::uint64_t digest) {
  const Candidate& chosen =
      layers_[layer].candidates[static_cast<std::size_t>(worst.choice[layer])];
  const auto key = [&](std::size_t s) {
    return fmt::format("noise|{:x}|{}|{}", digest, s, net_key(layers_[layer], chosen));
  };
  std::vector<double> parts;
  for (std::size_t s = 0; s < noise_samples_.size(); ++s)
    if (const Profile* const row = cache_.find(key(s)); row != nullptr) parts.push_back(row->error);
  if (parts.size() == noise_samples_.size()) {
    ++net_from_cache_;
    return parts;
  }
  if (noise_references_.empty() && !noise_at_outputs(base).ok()) return {};
  Selection one = base;
  one.choice[layer] = worst.choice[layer];
  Result<std::vector<double>> measured = noise_at_outputs(one);
  if (!measured.ok()) return {};
  for (std::size_t s = 0; s < measured->size(); ++s) cache_.put(key(s), {.error = (*measured)[s]});
  ++net_measured_;
  return *std::move(measured);
}

// The layers that `worst` rounds, one at a time in the best path of float32 (but for layers that
// have no such routine), those with the largest error alone first, as long as time allows; the
// others are taken to be like them.
Status Tuner::measure_noise(const Selection& worst) {
  const std::vector<std::size_t> affected = most_affected_samples();
  if (affected.empty() || worst.choice.empty()) return {};
  SelectionRules float32 = rules();
  float32.allowed = [](const LayerCandidates& layer, const Candidate& candidate) {
    const auto is_float32 = [](const Candidate& other) { return other.is_float32(); };
    return candidate.is_float32() ||
           std::none_of(layer.candidates.begin(), layer.candidates.end(), is_float32);
  };
  const Result<Selections> base = select_paths(*job_.graph, layers_, adapts_, float32);
  if (!base.ok()) return {};  // the proxy has to do
  const auto chosen = [&](std::size_t l) -> const Candidate& {
    return layers_[l].candidates[static_cast<std::size_t>(worst.choice[l])];
  };
  std::vector<std::size_t> order(layers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t l) {
    return chosen(l).is_float32() || worst.choice[l] == base->paths[0].choice[l];
  });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return chosen(a).error > chosen(b).error; });
  noise_.assign(layers_.size(), {});
  std::int64_t allowed = kNoiseNs;
  if (options_.time_limit.count() > 0)
    allowed = std::min(
        allowed,
        std::chrono::nanoseconds(budget_.end - std::chrono::steady_clock::now()).count() / 4);
  const std::int64_t end = clock_ns() + allowed;
  noise_samples_.clear();
  noise_references_.clear();
  noise_by_sample_.clear();
  std::uint64_t digest = 0;  // of the samples, which the noise depends on
  for (const std::size_t s : affected) {
    const std::size_t held = job_.held_back.size();
    noise_samples_.push_back(s < held ? job_.held_back[s] : job_.seen[s - held]);
    for (const Tensor& tensor : noise_samples_.back())
      digest = digest * 31 + checksum(tensor.data(), tensor.bytes());
  }
  double power = 0, unit = 0;
  std::size_t done = 0;
  for (const std::size_t l : order) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    if (clock_ns() > end) break;
    report_progress("noise", done++, order.size(), layers_[l].layer.layer->name, chosen(l).str());
    const std::vector<double> parts = noise_of_layer(l, worst, base->paths[0], digest);
    if (parts.empty()) continue;  // taken to be like the others
    double noise = 0;
    for (const double part : parts) noise += part;
    // An overflow says nothing of where rounding shows.
    for (std::size_t s = 0; s < parts.size() && noise < kWorstNoise; ++s)
      noise_by_sample_[affected[s]] += parts[s];
    noise_[l] = {noise, chosen(l).error, true};
    power += noise;
    unit += chosen(l).error * chosen(l).error;
  }
  if (unit > 0) usual_noise_ = power / unit;
  cache_.flush();
  return {};
}

}  // namespace softneuro
