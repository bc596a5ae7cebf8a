// What rounding does to the net's outputs, layer by layer: the error that the solver is bound by,
// where the fastest path breaks the limit (design, section 4).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/checksum.h"
#include "core/element.h"
#include "core/error.h"
#include "profiler/tuner.h"

namespace softneuro {
namespace {

constexpr std::int64_t kNoiseNs = 3'000'000'000;  // at most this long, or a quarter of what is left

constexpr double kWorstNoise = 1e18;  // of an overflow: like infinity, but can be added up and kept

// Power of output − reference in relation to the reference's, of the worst output. What overflows
// or gives an output of another shape is as bad as can be.
double relative_power(const std::vector<std::vector<Tensor>>& references,
                      const std::vector<std::vector<Tensor>>& outputs) {
  double worst = 0;
  for (std::size_t o = 0; o < references[0].size(); ++o) {
    if (!is_float(references[0][o].data_type())) continue;
    double power = 0, error = 0;
    for (std::size_t s = 0; s < references.size(); ++s) {
      if (!(outputs[s][o].shape() == references[s][o].shape())) return kWorstNoise;
      const TensorView r = view_of(references[s][o]), y = view_of(outputs[s][o]);
      for (std::int64_t i = 0; i < references[s][o].elements(); ++i) {
        const double expected = load(r, i), difference = load(y, i) - expected;
        if (!std::isfinite(expected)) continue;
        if (!std::isfinite(difference)) return kWorstNoise;
        power += expected * expected;
        error += difference * difference;
      }
    }
    if (error > 0) worst = std::max(worst, power > 0 ? error / power : kWorstNoise);
  }
  return std::min(worst, kWorstNoise);
}

}  // namespace

// Additive noise power; float32 is the reference.
double Tuner::error_proxy(const LayerCandidates& layer, const Candidate& candidate) const {
  if (candidate.is_float32()) return 0;
  const double unit = candidate.error * candidate.error;
  const std::size_t l = place_of(layer);
  if (noise_.empty() || !noise_[l].known) return unit * usual_noise_;
  // Another candidate than the one that was measured: as much more as it is worse alone.
  const OutputNoise& noise = noise_[l];
  const double scale = noise.unit_error > 0 ? candidate.error / noise.unit_error : 1;
  return noise.power * std::clamp(scale * scale, 0.25, 4.0);
}

// The path's error on the noise samples, against that of `noise_references_`; fills those in if
// they are not there.
Result<double> Tuner::noise_at_outputs(const Selection& selection) {
  SN_ASSIGN_OR_RETURN(const RoutinePath path, make_path(*job_.graph, layers_, adapts_, selection));
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, path, nullptr));
  SN_ASSIGN_OR_RETURN(auto all, outputs_of(plan, job_.noise_samples, job_.core->allocator()));
  if (noise_references_.empty()) {
    noise_references_ = std::move(all);
    return 0.0;
  }
  return relative_power(noise_references_, all);
}

// The layers that `worst` rounds, one at a time in the best float32 path, those with the largest
// error alone first, as long as time allows; the others are taken to be like them.
Status Tuner::measure_noise(const Selection& worst) {
  if (job_.noise_samples.empty() || worst.choice.empty()) return {};
  SelectionRules float32 = rules();
  float32.allowed = [](const LayerCandidates&, const Candidate& c) { return c.is_float32(); };
  const Result<Selections> base = select_paths(*job_.graph, layers_, adapts_, float32);
  if (!base.ok()) return {};  // a layer that has no float32 routine: the proxy has to do
  const auto chosen = [&](std::size_t l) -> const Candidate& {
    return layers_[l].candidates[static_cast<std::size_t>(worst.choice[l])];
  };
  std::vector<std::size_t> order(layers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t l) { return chosen(l).is_float32(); });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return chosen(a).error > chosen(b).error; });
  noise_.assign(layers_.size(), {});
  std::int64_t allowed = kNoiseNs;
  if (options_.time_limit.count() > 0)
    allowed = std::min(
        allowed,
        std::chrono::nanoseconds(budget_.end - std::chrono::steady_clock::now()).count() / 4);
  const std::int64_t end = clock_ns() + allowed;
  std::uint64_t digest = 0;  // of the samples, which the noise depends on
  for (const std::vector<Tensor>& sample : job_.noise_samples)
    for (const Tensor& tensor : sample)
      digest = digest * 31 + checksum(tensor.data(), tensor.bytes());
  double power = 0, unit = 0;
  std::size_t done = 0;
  for (const std::size_t l : order) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    if (clock_ns() > end) break;
    tell("noise", done++, order.size(), layers_[l].layer.layer->name, chosen(l).str());
    const std::string key = fmt::format("noise|{:x}|{}", digest, net_key(layers_[l], chosen(l)));
    const Profile* const row = cache_.find(key);
    double noise = row != nullptr ? row->error : 0;
    if (row == nullptr) {
      if (noise_references_.empty() && !noise_at_outputs(base->paths[0]).ok()) return {};
      Selection one = base->paths[0];
      one.choice[l] = worst.choice[l];
      const Result<double> measured = noise_at_outputs(one);
      if (!measured.ok()) continue;  // taken to be like the others
      noise = *measured;
      cache_.put(key, {.error = noise});
      ++net_measured_;
    } else {
      ++net_from_cache_;
    }
    noise_[l] = {noise, chosen(l).error, true};
    power += noise;
    unit += chosen(l).error * chosen(l).error;
  }
  if (unit > 0) usual_noise_ = power / unit;
  cache_.flush();
  return {};
}

}  // namespace softneuro
