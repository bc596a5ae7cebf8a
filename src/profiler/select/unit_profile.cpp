#include "profiler/select/unit_profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/routine/registry.h"
#include "profiler/measure/departure.h"
#include "profiler/measure/timer.h"
#include "profiler/select/childnet_solve.h"

namespace softneuro {
namespace {

constexpr double kFloorUs = 40;      // a batch lasts at least this long
constexpr double kPruneRatio = 1.4;  // of the best time, after two samples
constexpr int kControlRounds = 3;    // what one run says of a control's undisturbed time is noise
// A childnet whose layers inside take this many times the best of the other candidates cannot win:
// what they leave in the caches for each other does not save as much.
constexpr double kLostInside = 1.25;
// Weights of that many bytes take a part of the layer's time that counts, where they are read anew.
constexpr std::size_t kColdBytes = std::size_t{1} << 16;
constexpr int kDeepest = 2;  // childnets within childnets that are looked into

// Random inputs reach farther than the samples that the range comes from, and saturating there is
// right.
RealRange bounds_of(const Format& format, const std::optional<Quantization>& quantization) {
  if (format.type != DataType::qint8 || !quantization || quantization->axis >= 0) return {};
  return range_of(*quantization);
}

// The same where all numbers are finite, several at a time; else NaN or infinity.
double relative_rms_of_floats(const float* expected, const float* actual, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  double square[kLanes] = {}, difference[kLanes] = {};
  const auto add = [&](std::int64_t i, std::int64_t lane) {
    const double x = expected[i], d = x - actual[i];
    square[lane] += x * x;
    difference[lane] += d * d;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < count; ++i) add(i, 0);
  double squares = 0, differences = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    squares += square[lane];
    differences += difference[lane];
  }
  if (differences == 0) return squares * 0;  // NaN is no zero
  return std::sqrt(differences / squares);
}

// RMS(actual − expected) / RMS(expected); 0 if both are zero. Infinite where only one is NaN.
double relative_rms(const Tensor& expected, const Tensor& actual, const RealRange& bounds) {
  if (expected.data_type() == DataType::float32 && actual.data_type() == DataType::float32 &&
      std::isinf(bounds.low) && std::isinf(bounds.high)) {
    const double quick =
        relative_rms_of_floats(static_cast<const float*>(expected.data()),
                               static_cast<const float*>(actual.data()), expected.elements());
    if (std::isfinite(quick)) return quick;
  }
  return compare_tensors(expected, actual, 0, bounds).relative();
}

std::size_t constant_bytes(const Problem& problem) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : problem.inputs)
    if (spec.present() && spec.constant)
      bytes += static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.type);
  return bytes;
}

int batch_of(double us) {
  if (us <= 0) return 1000;
  return static_cast<int>(std::clamp(std::ceil(kFloorUs / us), 1.0, 1000.0));
}

}  // namespace

// The fastest candidate so far, which is timed again after each of the others.
struct UnitProfiler::Control {
  Candidate* candidate;
  KernelBench bench;
  int batch;
};

// One sample: a run that reads the weights anew, as in a net, or else `batch` runs in a row. A
// failed run takes infinitely long.
double UnitProfiler::time_us(KernelBench& bench, int batch) {
  const PoolBurst burst(core_.pool());
  const double us = cold_ ? bench.cold_time_us(caches_, barrier_) : bench.time_us(batch, barrier_);
  return us < 0 ? INFINITY : us;
}

void UnitProfiler::fill_constants() {
  if (fill_constants_) fill_constants_();
  fill_constants_ = nullptr;
}

Status UnitProfiler::prepare_reference(const Problem& model) {
  if (!inputs_.empty() || model.inputs.empty()) {
    if (!reference_.empty()) return {};
  }
  fill_constants();
  SN_ASSIGN_OR_RETURN(inputs_, random_inputs(model, core_.allocator()));
  const std::string float32 = "cpu:float32";
  SN_ASSIGN_OR_RETURN(const Routine* routine,
                      core_.registry().default_choice(model, {&float32, 1}));
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, inputs_as(model));
  SN_ASSIGN_OR_RETURN(KernelBench bench,
                      KernelBench::create(core_, *routine, model, routine->default_params(model),
                                          inputs, &last_packing_));
  SN_RETURN_IF_ERROR(bench.run());
  for (std::size_t o = 0; o < bench.outputs().size(); ++o) {
    Tensor output = bench.outputs()[o];
    if (!output.empty()) {
      SN_ASSIGN_OR_RETURN(output, in_format(core_, output, {output.data_type(), Layout::plain},
                                            model.outputs[o].quantization));
    }
    reference_.push_back(std::move(output));
  }
  return {};
}

// The inputs at hand in the formats of `problem`.
Result<std::vector<Tensor>> UnitProfiler::inputs_as(const Problem& problem) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (inputs_[i].empty()) {
      inputs.emplace_back();
      continue;
    }
    // Most candidates want the formats that others had before.
    const Format format{spec.type, spec.layout};  // on the host
    auto& known = inputs_by_format_[fmt::format("{} {}", i, format.str())];
    if (known.empty()) {
      SN_ASSIGN_OR_RETURN(known, in_format(core_, inputs_[i], format, spec.quantization));
    }
    inputs.push_back(known);
  }
  return inputs;
}

// Names the best path inside of a childnet; the layers there are measured by a profiler of their
// own, which shares everything but the problem at hand.
Status UnitProfiler::choose_inside(const Problem& model, Candidate& candidate, double best_us) {
  const auto measure = [&](const Problem& problem, std::vector<Candidate>& candidates,
                           const FillConstants& fill) {
    UnitProfiler inside(core_, cache_, budget_, barrier_, caches_, exhaustive_);
    inside.on_candidate = on_candidate;
    inside.warn = warn;
    inside.inside_rules = inside_rules;
    inside.depth_ = depth_ + 1;
    inside.fill_constants_ = [&] {
      fill_constants();  // those inside may be the same
      fill();
    };
    Status status = inside.profile(problem, candidates);
    counts_.measured += inside.counts_.measured;
    counts_.from_cache += inside.counts_.from_cache;
    counts_.rejected += inside.counts_.rejected;
    return status;
  };
  CandidateRules rules = inside_rules;
  rules.childnets = depth_ + 1 < kDeepest;
  const Problem problem = with_formats(model, candidate.formats);
  SN_ASSIGN_OR_RETURN(
      const ChildnetInside inside,
      solve_inside(core_.registry(), *candidate.routine->as_childnet(), problem, candidate.params,
                   rules, exhaustive_ ? INFINITY : kLostInside * best_us, core_.allocator(),
                   measure));
  candidate.pruned = !inside.within_bound;
  if (!inside.known) return {};
  candidate.unresolved = false;
  candidate.params.set("inner", inside.inner);
  candidate.key = profile_key(problem, *candidate.routine, candidate.params);
  return {};
}

// Small nets find weights in a cache that large ones do not: other times, other rows.
std::string UnitProfiler::row_key(const Candidate& candidate) const {
  return cold_ ? fmt::format("{}|weights in {}", candidate.key, to_string(caches_.residency()))
               : candidate.key;
}

bool UnitProfiler::from_cache(Candidate& candidate) {
  const Profile* known = cache_.find(row_key(candidate));
  if (known == nullptr) return false;
  if (exhaustive_ && known->pruned) return false;
  candidate.unit_us = known->time_us;
  candidate.wrong = known->wrong;
  candidate.pruned = known->pruned;
  candidate.error = known->error;
  candidate.workspace = static_cast<std::size_t>(known->workspace);
  candidate.packed = static_cast<std::size_t>(known->packed);
  ++counts_.from_cache;
  return true;
}

void UnitProfiler::keep(const Candidate& candidate, double spread_us) {
  Profile profile;
  profile.time_us = std::isfinite(candidate.unit_us) ? candidate.unit_us : 0;
  profile.spread_us = spread_us;
  profile.error = std::isfinite(candidate.error) ? candidate.error : 1e9;
  profile.workspace = static_cast<double>(candidate.workspace);
  profile.packed = static_cast<double>(candidate.packed);
  profile.wrong = candidate.wrong;
  profile.pruned = candidate.pruned;
  cache_.put(row_key(candidate), profile);
}

Result<double> UnitProfiler::error_of(const Problem& model, const Candidate& candidate,
                                      KernelBench& bench) {
  double worst = 0;
  for (std::size_t o = 0; o < reference_.size(); ++o) {
    const Tensor& expected = reference_[o];
    if (expected.empty() || expected.elements() == 0) continue;
    SN_ASSIGN_OR_RETURN(const Tensor actual,
                        in_format(core_, bench.outputs()[o], {expected.data_type(), Layout::plain},
                                  model.outputs[o].quantization));
    if (is_real(expected.data_type())) {
      const double error = relative_rms(
          expected, actual, bounds_of(candidate.formats.outputs[o], model.outputs[o].quantization));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    } else if (expected.bytes() > 0 &&
               std::memcmp(expected.data(), actual.data(), expected.bytes()) != 0) {
      worst = INFINITY;
    }
  }
  return worst;
}

Status UnitProfiler::measure(const Problem& model, Candidate& candidate, double best_us,
                             std::optional<Control>& control) {
  SN_RETURN_IF_ERROR(prepare_reference(model));
  const Problem problem = with_formats(model, candidate.formats);
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, inputs_as(problem));
  SN_ASSIGN_OR_RETURN(KernelBench bench,
                      KernelBench::create(core_, *candidate.routine, problem, candidate.params,
                                          std::move(inputs), &last_packing_));
  SN_RETURN_IF_ERROR(bench.run());
  ++counts_.measured;
  candidate.workspace = bench.workspace_bytes();
  candidate.packed = bench.packed_bytes();
  SN_ASSIGN_OR_RETURN(candidate.error, error_of(model, candidate, bench));
  candidate.wrong = candidate.error > tolerance_of(candidate.routine->descriptor().type);
  if (candidate.wrong) {
    ++counts_.rejected;
    wrong_.push_back(fmt::format("{} by {:.2g}", candidate.str(), candidate.error));
    keep(candidate, 0);
    return {};
  }
  const PoolBurst burst(core_.pool());  // keeps threads from parking between samples
  Samples samples;
  const double first = time_us(bench, 1);
  samples.add(first);
  const int batch = cold_ ? 1 : batch_of(first);
  // Inside of childnets times only rank what is measured again as a whole.
  const std::size_t wanted = exhaustive_ ? 15 : 5;
  const double most_us = exhaustive_ ? 2e5 : depth_ > 0 ? 1e4 : 4e4;
  candidate.pruned = false;
  while (!candidate.pruned && samples.count() < wanted &&
         (samples.count() < 3 || samples.total() * batch < most_us)) {
    samples.add(time_us(bench, batch));
    candidate.pruned =
        !exhaustive_ && samples.count() == 2 && samples.minimum() > kPruneRatio * best_us;
  }
  candidate.unit_us = samples.centre();
  unkept_[&candidate] = samples.spread();
  double control_us = candidate.unit_us;
  if (control) control_us = time_control(*control);
  if (!control || candidate.unit_us < control->candidate->unit_us) {
    control = Control{&candidate, std::move(bench), batch};
    control_us = candidate.unit_us;
  }
  controls_.record(candidate, *control->candidate, control_us);
  return {};
}

double UnitProfiler::time_control(Control& control) {
  const double us = time_us(control.bench, control.batch);
  controls_.record_again(*control.candidate, us);
  return us;
}

// Times that were made while the machine was slow, as its controls tell, are put on the scale of
// the others. A control may have been disturbed where the candidate was not: at best they are as
// fast as the fastest of the others.
void UnitProfiler::correct_disturbed(std::optional<Control>& control) {
  // It may have been disturbed for as long as it served as the control.
  for (int round = 0; control && round < kControlRounds; ++round) time_control(*control);
  std::map<Candidate*, double> slowdowns;
  for (const ControlRuns::Disturbed& disturbed : controls_.disturbed())
    slowdowns[disturbed.candidate] = disturbed.slowdown;
  double best_us = INFINITY;
  for (const auto& [candidate, spread_us] : unkept_)
    if (!slowdowns.contains(candidate)) best_us = std::min(best_us, candidate->unit_us);
  for (const auto& [candidate, slowdown] : slowdowns)
    candidate->unit_us =
        std::min(candidate->unit_us, std::max(candidate->unit_us / slowdown, best_us));
}

// Rows are kept when a layer is done: until then a row may turn out to be disturbed.
void UnitProfiler::keep_all() {
  for (const auto& [candidate, spread_us] : unkept_)
    if (!candidate->wrong && std::isfinite(candidate->unit_us)) keep(*candidate, spread_us);
  unkept_.clear();
}

// One warning for the layer: where 8 bits cannot hold a tensor, every 8-bit candidate is wrong.
void UnitProfiler::tell_wrong(const Problem& model) {
  if (warn && !wrong_.empty())
    warn(LogLevel::warning, fmt::format("layer '{}': candidates dropped, whose results differ from "
                                        "the reference (relative RMS): "
                                        "{}",
                                        model.layer_name, fmt::join(wrong_, ", ")));
  wrong_.clear();
}

// A routine that fails is dropped; tuning goes on.
void UnitProfiler::drop(const Problem& model, Candidate& candidate, const Status& status) {
  candidate.wrong = true;
  ++counts_.rejected;
  if (warn)
    warn(LogLevel::error, fmt::format("layer '{}': {} is dropped: {}", model.layer_name,
                                      candidate.str(), status.message()));
}

void UnitProfiler::forget_problem() {
  controls_.clear();
  unkept_.clear();
  inputs_.clear();
  inputs_by_format_.clear();
  reference_.clear();
  last_packing_ = {};
}

Status UnitProfiler::profile(const Problem& model, std::vector<Candidate>& candidates) {
  forget_problem();
  cold_ = caches_.residency() != CacheResidency::own_cache && constant_bytes(model) >= kColdBytes;
  double best = INFINITY;
  for (Candidate& candidate : candidates)
    if (candidate.routine != nullptr && !candidate.unresolved && from_cache(candidate) &&
        !candidate.wrong)
      best = std::min(best, candidate.unit_us);
  std::optional<Control> control;
  for (Candidate& candidate : candidates) {
    if (candidate.routine == nullptr || candidate.wrong || std::isfinite(candidate.unit_us))
      continue;
    if (Status cancelled = check_cancel(budget_.cancel); !cancelled.ok()) {
      keep_all();
      return cancelled;
    }
    if (budget_.expired()) break;
    if (on_candidate) on_candidate(candidate, std::isfinite(best) ? best : 0);
    Status status;
    if (candidate.unresolved) {
      status = choose_inside(model, candidate, best);
      if (status.code() == StatusCode::cancelled) {
        keep_all();
        return status;
      }
      if (status.ok() && candidate.unresolved) continue;
    }
    if (status.ok() && !from_cache(candidate)) status = measure(model, candidate, best, control);
    if (!status.ok()) {
      drop(model, candidate, status);
      continue;
    }
    if (!candidate.wrong) best = std::min(best, candidate.unit_us);
  }
  correct_disturbed(control);
  keep_all();
  tell_wrong(model);
  forget_problem();
  return {};
}

Result<AdaptChoice> UnitProfiler::profile_adapt(const TensorSpec& tensor, const Format& from,
                                                const Format& to) {
  cold_ = false;
  const Problem problem = adapt_problem(core_, tensor, from, to);
  AdaptChoice best;
  best.from = from;
  best.to = to;
  best.time_us = INFINITY;
  std::string key;
  Tensor input;
  for (const Routine* routine : core_.registry().routines("adapt")) {
    if (routine->descriptor().algorithm == "naive" && std::isfinite(best.time_us)) continue;
    if (!core_.registry().check(*routine, problem).ok()) continue;
    Candidate candidate;
    candidate.routine = routine;
    candidate.params = routine->default_params(problem);
    candidate.key = profile_key(problem, *routine, candidate.params);
    if (key.empty()) {
      key = candidate.key;
      if (const auto known = adapts_.find(key); known != adapts_.end()) return known->second;
    }
    if (!from_cache(candidate)) {
      SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
      if (input.empty()) {
        SN_ASSIGN_OR_RETURN(input, Tensor::create(tensor.type, tensor.shape, core_.allocator()));
        fill_random(tensor, input);
        SN_ASSIGN_OR_RETURN(input, in_format(core_, input, from, tensor.quantization));
      }
      SN_ASSIGN_OR_RETURN(KernelBench bench,
                          KernelBench::create(core_, *routine, problem, candidate.params, {input}));
      SN_RETURN_IF_ERROR(bench.run());
      ++counts_.measured;
      const PoolBurst burst(core_.pool());
      Samples samples;
      const int batch = batch_of(bench.time_us(1, barrier_));
      while (samples.count() < 5 && (samples.count() < 2 || samples.total() * batch < 5e3))
        samples.add(bench.time_us(batch, barrier_));
      if (samples.minimum() < 0) continue;  // it failed
      candidate.unit_us = samples.centre();
      keep(candidate, samples.spread());
    }
    if (candidate.unit_us < best.time_us) {
      best.time_us = candidate.unit_us;
      best.routine = routine->descriptor().str();
      best.params = candidate.params;
    }
  }
  if (!key.empty()) adapts_.emplace(key, best);
  return best;
}

}  // namespace softneuro
