#include "profiler/select/unit_profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/plan/single_run.h"
#include "core/routine/registry.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/kernel_bench.h"
#include "profiler/measure/timer.h"
#include "profiler/select/childnet_solve.h"
#include "profiler/select/problem_reference.h"
#include "verify/random_inputs.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

using namespace constants;

int batch_of(double us) {
  if (us <= 0) return kMostBatch;
  return static_cast<int>(std::clamp(std::ceil(kBatchUs / us), 1.0, 1.0 * kMostBatch));
}

// Whether a candidate has too few samples, each of a batch of so many runs.
bool is_sampling_on(const Samples& samples, std::size_t wanted, int batch) {
  return samples.count() < wanted &&
         (samples.count() < kFewestSamples || samples.total() * batch < kSamplesUs);
}

// By its first two samples; by the first one alone where there is no doubt.
bool is_beaten(const Samples& samples, const Samples& controls) {
  const double bound = samples.count() == 1 ? kBeaten * kBeaten : kBeaten;
  return samples.count() <= 2 && samples.minimum() > bound * controls.minimum();
}

}  // namespace

// One problem, whose candidates are measured in turn.
class UnitProfiler::ProblemProfile {
 public:
  // `fill`, if any, is called before anything is measured, once.
  ProblemProfile(UnitProfiler& profiler, const Problem& model, const RoutineContext& context,
                 FillConstants fill, std::vector<Candidate>& candidates)
      : profiler_(profiler),
        runtime_(profiler.runtime_),
        model_(model),
        context_(context),
        fill_constants_(std::move(fill)),
        candidates_(candidates),
        reference_(profiler.runtime_, model) {}

  Status profile();

 private:
  // The fastest candidate so far. The others run in turns with it: their times are on one scale,
  // however fast the machine is at the moment.
  struct Control {
    std::size_t candidate;
    KernelBench bench;
    int batch;
  };
  Status profile_each();
  Status profile_one(std::size_t index, std::optional<std::size_t> known);
  double best_us() const;
  Status choose_inside(Candidate& candidate);
  Result<ImplementationPtr> implementation_of(const Candidate& candidate) const;
  Result<KernelBench> bench_of(const Candidate& candidate);
  Status measure(std::size_t index);
  void time_in_turns(std::size_t index, KernelBench& bench, int batch, Samples& samples);
  void fill_constants();
  double time_us(KernelBench& bench, int batch);
  int warm_up(KernelBench& bench, double& first);
  void begin_control(std::optional<std::size_t> known);
  void settle_scale();
  void keep_all();
  void warn_of_wrong();
  void drop(Candidate& candidate, const Status& status);

  UnitProfiler& profiler_;
  Runtime& runtime_;
  const Problem& model_;
  RoutineContext context_;
  FillConstants fill_constants_;
  std::vector<Candidate>& candidates_;  // grows
  std::optional<Control> control_;
  // How many times as long as on the scale of the layer's times the control took beside each of the
  // others.
  Samples slowness_;
  bool is_scale_known_ = false;           // that of the cache's rows, or what is usual now
  std::map<std::size_t, double> unkept_;  // measured, not in the cache yet: spread
  std::vector<std::string> wrong_;        // candidates, and by how much
  ProblemReference reference_;
  LastPacking last_packing_;
};

// One sample: `batch` runs in a row. A failed run takes infinitely long.
double UnitProfiler::ProblemProfile::time_us(KernelBench& bench, int batch) {
  const PoolBurst burst(runtime_.pool());
  const double us = bench.time_us(batch, profiler_.barrier_);
  return us < 0 ? INFINITY : us;
}

void UnitProfiler::ProblemProfile::fill_constants() {
  if (fill_constants_) fill_constants_();
  fill_constants_ = nullptr;
}

// Names the best path inside of a childnet.
Status UnitProfiler::ProblemProfile::choose_inside(Candidate& candidate) {
  settle_scale();  // it decides which childnets are measured: the next time, too
  const auto measure = [&](const Problem& problem, std::vector<Candidate>& candidates,
                           const FillConstants& fill) {
    const auto fill_both = [&] {
      fill_constants();  // those inside may be the same
      fill();
    };
    return ProblemProfile(profiler_, problem, context_.inside_childnet(), fill_both, candidates)
        .profile();
  };
  CandidateRules inside_rules = profiler_.rules;
  inside_rules.childnets = context_.childnet_depth() + 1 < kDeepestChildnet;
  SN_ASSIGN_OR_RETURN(const ImplementationPtr implementation, implementation_of(candidate));
  SN_ASSIGN_OR_RETURN(
      const ChildnetInside inside,
      solve_inside(context_.inside_childnet(), *implementation->as_childnet(), candidate.params,
                   inside_rules, profiler_.exhaustive_ ? INFINITY : kBeaten * best_us(),
                   runtime_.allocator(), measure));
  candidate.pruned = !inside.within_bound;
  if (!inside.known) return {};
  candidate.unresolved = false;
  candidate.params.set("inner", inside.inner);
  candidate.key = profile_key(runtime_.registry(), implementation->whole_problem(),
                              *candidate.routine, candidate.params);
  return {};
}

Result<ImplementationPtr> UnitProfiler::ProblemProfile::implementation_of(
    const Candidate& candidate) const {
  return context_.implement(*candidate.routine, with_formats(model_, candidate.formats));
}

Result<KernelBench> UnitProfiler::ProblemProfile::bench_of(const Candidate& candidate) {
  fill_constants();
  SN_RETURN_IF_ERROR(reference_.prepare(last_packing_));
  SN_ASSIGN_OR_RETURN(const ImplementationPtr implementation, implementation_of(candidate));
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> inputs,
                      reference_.inputs_as(implementation->whole_problem()));
  return KernelBench::create(runtime_, *implementation, candidate.params, std::move(inputs),
                             &last_packing_);
}

// After its first run, which took `first`: runs of a sample, and the time of the first sample. A
// first run is slower. On the host it counts where it hardly matters how often a candidate runs.
int UnitProfiler::ProblemProfile::warm_up(KernelBench& bench, double& first) {
  if (bench.is_on_device()) {
    const int batch = bench.batch_on_device(profiler_.barrier_, first);
    if (first < 0) first = INFINITY;
    return batch;
  }
  if (first * kSamples < kSamplesUs) first = time_us(bench, 1);
  return batch_of(first);
}

// A candidate that the cache knows: those that it does not are put on its scale.
void UnitProfiler::ProblemProfile::begin_control(std::optional<std::size_t> known) {
  if (control_ || !known) return;
  Result<KernelBench> bench = bench_of(candidates_[*known]);
  if (!bench.ok()) return;
  double first = time_us(*bench, 1);
  if (std::isinf(first)) return;
  const int batch = warm_up(*bench, first);
  control_ = Control{*known, std::move(*bench), batch};
  is_scale_known_ = true;
}

Status UnitProfiler::ProblemProfile::measure(std::size_t index) {
  Candidate& candidate = candidates_[index];
  SN_ASSIGN_OR_RETURN(KernelBench bench, bench_of(candidate));
  const PoolBurst burst(runtime_.pool());  // keeps threads from parking between samples
  double first = time_us(bench, 1);
  SN_RETURN_IF_ERROR(std::isinf(first) ? bench.run() : bench.finish());  // run() says why
  ++profiler_.counts_.measured;
  candidate.workspace = bench.workspace_bytes();
  candidate.packed = bench.packed_bytes();
  SN_ASSIGN_OR_RETURN(candidate.error, reference_.error_of(bench.outputs(), candidate.formats));
  candidate.wrong = candidate.error > tolerance_of(candidate.routine->descriptor().precision());
  std::string fault;
  if (candidate.wrong) {
    fault = fmt::format("by {:.2g}", candidate.error);
  } else {
    SN_ASSIGN_OR_RETURN(fault, reference_.fault_in_tails(bench, *candidate.routine,
                                                         with_formats(model_, candidate.formats)));
    candidate.wrong = !fault.empty();
  }
  if (candidate.wrong) {
    ++profiler_.counts_.rejected;
    wrong_.push_back(candidate.str() + ' ' + fault);
    profiler_.keep(candidate, 0);
    return {};
  }
  const int batch = warm_up(bench, first);
  Samples samples;
  samples.add(first);
  time_in_turns(index, bench, batch, samples);
  if (!control_ || candidate.isolated_us < candidates_[control_->candidate].isolated_us)
    control_ = Control{index, std::move(bench), batch};
  return {};
}

void UnitProfiler::ProblemProfile::time_in_turns(std::size_t index, KernelBench& bench, int batch,
                                                 Samples& samples) {
  Candidate& candidate = candidates_[index];
  const std::size_t wanted = profiler_.exhaustive_ ? kExhaustiveTimes * kSamples : kSamples;
  Samples controls;
  candidate.pruned = false;
  while (true) {
    if (control_) controls.add(time_us(control_->bench, control_->batch));
    candidate.pruned = !profiler_.exhaustive_ && control_ && is_beaten(samples, controls);
    if (candidate.pruned || !is_sampling_on(samples, wanted, batch)) break;
    samples.add(time_us(bench, batch));
  }
  // Infinite where the control fails.
  double slowness = control_ ? controls.centre() / candidates_[control_->candidate].isolated_us : 1;
  if (!std::isfinite(slowness)) slowness = 1;
  slowness_.add(slowness);
  candidate.isolated_us = samples.centre() / slowness;
  unkept_[index] = samples.spread() / slowness;
}

// Brings all times to the speed that the machine has as a rule.
void UnitProfiler::ProblemProfile::settle_scale() {
  if (is_scale_known_ || slowness_.count() == 0) return;
  const double usual = slowness_.centre();
  for (auto& [index, spread_us] : unkept_) {
    candidates_[index].isolated_us *= usual;
    spread_us *= usual;
  }
  is_scale_known_ = true;
}

// Rows are kept when a layer is done: until then their scale may change.
void UnitProfiler::ProblemProfile::keep_all() {
  settle_scale();
  for (const auto& [index, spread_us] : unkept_)
    if (candidates_[index].is_usable()) profiler_.keep(candidates_[index], spread_us);
}

// One warning for the layer: where 8 bits cannot hold a tensor, every 8-bit candidate is wrong. The
// log has all of them.
void UnitProfiler::ProblemProfile::warn_of_wrong() {
  if (!profiler_.warn || wrong_.empty()) return;
  profiler_.warn(LogLevel::warning,
                 fmt::format("layer '{}': {} not used, since results differ from the default "
                             "routine's by more than the data type explains: {}{}",
                             model_.layer_name,
                             wrong_.size() == 1 ? "one candidate is"
                                                : fmt::format("{} candidates are", wrong_.size()),
                             wrong_[0], wrong_.size() == 1 ? "" : ", …"));
  if (wrong_.size() > 1)
    profiler_.warn(
        LogLevel::info,
        fmt::format(
            "layer '{}': not used (relative RMS; in element-wise layers also a single element): {}",
            model_.layer_name, fmt::join(wrong_, ", ")));
}

// A routine that fails is dropped; tuning goes on.
void UnitProfiler::ProblemProfile::drop(Candidate& candidate, const Status& status) {
  candidate.wrong = true;
  ++profiler_.counts_.rejected;
  if (profiler_.warn)
    profiler_.warn(LogLevel::error, fmt::format("layer '{}': {} is dropped: {}", model_.layer_name,
                                                candidate.str(), status.message()));
}

Status UnitProfiler::ProblemProfile::profile() {
  Status status = profile_each();
  keep_all();
  if (status.ok()) warn_of_wrong();
  return status;
}

double UnitProfiler::ProblemProfile::best_us() const {
  double best = INFINITY;
  for (const Candidate& candidate : candidates_)
    if (candidate.is_usable()) best = std::min(best, candidate.isolated_us);
  return best;
}

// cancelled, or ok.
Status UnitProfiler::ProblemProfile::profile_each() {
  std::optional<std::size_t> known;
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (Candidate& candidate = candidates_[c];
        candidate.routine != nullptr && !candidate.unresolved && profiler_.from_cache(candidate) &&
        !candidate.wrong && (!known || candidate.isolated_us < candidates_[*known].isolated_us))
      known = c;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (candidates_[c].routine == nullptr) continue;
    if (!candidates_[c].wrong && std::isinf(candidates_[c].isolated_us)) {
      SN_RETURN_IF_ERROR(check_cancelled(profiler_.budget_.cancel));
      if (profiler_.budget_.expired()) break;
      Status status = profile_one(c, known);
      if (status.code() == StatusCode::cancelled) return status;
      if (!status.ok()) drop(candidates_[c], status);
    }
    propose_after(context_, model_, profiler_.rules, c, candidates_);
  }
  return {};
}

Status UnitProfiler::ProblemProfile::profile_one(std::size_t index,
                                                 std::optional<std::size_t> known) {
  Candidate& candidate = candidates_[index];
  const double best = best_us();
  if (profiler_.on_candidate) profiler_.on_candidate(candidate, std::isfinite(best) ? best : 0);
  if (candidate.unresolved) SN_RETURN_IF_ERROR(choose_inside(candidate));
  if (candidate.unresolved || profiler_.from_cache(candidate)) return {};
  begin_control(known);
  return measure(index);
}

bool UnitProfiler::from_cache(Candidate& candidate) {
  const Profile* known = cache_.find(candidate.key);
  if (known == nullptr) return false;
  if (exhaustive_ && known->pruned) return false;
  candidate.isolated_us = known->time_us;
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
  profile.time_us = std::isfinite(candidate.isolated_us) ? candidate.isolated_us : 0;
  profile.spread_us = spread_us;
  profile.error = std::isfinite(candidate.error) ? candidate.error : 1e9;
  profile.workspace = static_cast<double>(candidate.workspace);
  profile.packed = static_cast<double>(candidate.packed);
  profile.wrong = candidate.wrong;
  profile.pruned = candidate.pruned;
  profile.disturbed = barrier_.disturbed();
  cache_.put(candidate.key, profile);
}

Status UnitProfiler::profile(const Problem& model, std::vector<Candidate>& candidates) {
  return ProblemProfile(*this, model, runtime_.routine_context(), nullptr, candidates).profile();
}

// Fills in its time; infinity stays if a run fails. `input` is made when it is needed first.
Status UnitProfiler::measure_adapt(const TensorSpec& tensor, const Format& from,
                                   const Implementation& implementation, Candidate& candidate,
                                   Tensor& input) {
  SN_RETURN_IF_ERROR(check_cancelled(budget_.cancel));
  if (input.empty()) {
    SN_ASSIGN_OR_RETURN(input, Tensor::create(tensor.type, tensor.shape, runtime_.allocator()));
    fill_random(tensor, input);
    SN_ASSIGN_OR_RETURN(input, in_format(runtime_, input, from, tensor.quantization));
  }
  SN_ASSIGN_OR_RETURN(KernelBench bench,
                      KernelBench::create(runtime_, implementation, candidate.params, {input}));
  SN_RETURN_IF_ERROR(bench.run());
  ++counts_.measured;
  const PoolBurst burst(runtime_.pool());
  Samples samples;
  double first = 0;
  const int batch = bench.is_on_device() ? bench.batch_on_device(barrier_, first)
                                         : batch_of(bench.time_us(1, barrier_));
  while (is_sampling_on(samples, kSamples, batch)) samples.add(bench.time_us(batch, barrier_));
  if (samples.minimum() < 0) return {};
  candidate.isolated_us = samples.centre();
  keep(candidate, samples.spread());
  return {};
}

Result<AdaptChoice> UnitProfiler::profile_adapt(const TensorSpec& tensor, const Format& from,
                                                const Format& to) {
  const auto problem = std::make_shared<const Problem>(adapt_problem(runtime_, tensor, from, to));
  AdaptChoice best;
  best.from = from;
  best.to = to;
  best.time_us = INFINITY;
  std::string key;
  Tensor input;
  for (const Routine* routine : runtime_.registry().routines("adapt")) {
    if (routine->descriptor().algorithm == "naive" && std::isfinite(best.time_us)) continue;
    const auto implementation = runtime_.routine_context().implement(*routine, problem);
    if (!implementation.ok()) continue;
    Candidate candidate;
    candidate.routine = routine;
    candidate.params = (*implementation)->default_params();
    candidate.key = profile_key(runtime_.registry(), *problem, *routine, candidate.params);
    if (key.empty()) {
      key = candidate.key;
      if (const auto known = adapts_.find(key); known != adapts_.end()) return known->second;
    }
    if (!from_cache(candidate))
      SN_RETURN_IF_ERROR(measure_adapt(tensor, from, **implementation, candidate, input));
    if (candidate.isolated_us < best.time_us) {
      best.time_us = candidate.isolated_us;
      best.routine = routine->descriptor().str();
      best.params = candidate.params;
    }
  }
  if (!key.empty()) adapts_.emplace(key, best);
  return best;
}

}  // namespace softneuro
