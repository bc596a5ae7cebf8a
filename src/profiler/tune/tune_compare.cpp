// Interleaved comparison of near-ties. Passes run one path after the other, and the machine's speed
// drifts by more than many candidates differ. Here the runs of several paths, which differ in as
// many layers as possible, are interleaved: each round measures one candidate or another of every
// layer, under the same load and with the same caches.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Packed weights of all contenders are in memory at once; equal ones are shared.
constexpr std::size_t kConstantBytes = std::size_t{512} << 20;
constexpr std::int64_t kMakingNs = 1'600'000'000;  // plans are made for about this long
constexpr double kMostDrift = 1.3;
constexpr int kFewestRounds = 4;
constexpr std::int64_t kMostWaiting = 4;  // times as long as planned, for preempted threads
constexpr int kMostRounds = 60;
constexpr double kQuickUs = 5000;  // shorter runs have steps whose clocks are noise
constexpr double kSlower =
    1.03;  // a first run, than the second: of ResNet-50 1.01, of SqueezeNet 1.1
constexpr int kQuickProbes = 5;
// Times inside and alone differ by 10 % more or less (standard deviation) among one layer's
// candidates.
constexpr double kUnknownMargin = 0.2;
// Confirmation: beyond the third, comparisons of MobileNetV2 changed places of equals only.
constexpr int kMostConfirmations = 3;
constexpr double kConfirmed = 1.003;  // of the best one's cost: less is noise

std::size_t constant_bytes(const Graph& graph) {
  std::size_t bytes = 1;
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).is_constant()) bytes += graph.tensor(id).constant.bytes();
  return bytes;
}

}  // namespace

struct Tuner::Contender {
  Selection selection;
  NetBench bench;
  StepSamples samples;
  double run_us;
};

// Paths that together take every near-tie, where the detour costs no more than the margin: a
// candidate that no path has taken yet counts as that much faster than measured. The first path is
// the best one.
Result<std::vector<Tuner::Contender>> Tuner::find_contenders(SelectionRules rules,
                                                             const Comparison& how) {
  std::vector<std::set<int>> had(layers_.size());
  rules.discount = [&](const LayerCandidates& layer, const Candidate& candidate) {
    const auto& taken = had[place_of(layer)];
    const auto c = static_cast<int>(&candidate - layer.candidates.data());
    if (taken.empty() || taken.contains(c)) return 1.0;
    const bool known = candidate.routine == nullptr || candidate.net_us > 0;
    return 1 - (known ? how.margin : how.unknown_margin);
  };
  const std::size_t most = std::clamp<std::size_t>(kConstantBytes / constant_bytes(*job_.graph),
                                                   std::min<std::size_t>(2, how.most), how.most);
  std::vector<Contender> contenders;
  const std::int64_t begin = clock_ns();
  while (contenders.size() < most && !budget_.cancelled() && !budget_.expired()) {
    if (contenders.size() > 1 && clock_ns() - begin > kMakingNs) break;
    rules.slowdown_share = contenders.empty() ? 1 : how.slowdown_share;
    SN_ASSIGN_OR_RETURN(const Selections best, select_paths(*job_.graph, layers_, adapts_, rules));
    const Selection& selection = best.paths[0];
    bool news = false;
    for (std::size_t l = 0; l < layers_.size(); ++l)
      news = had[l].insert(selection.choice[l]).second || news;
    if (!news) break;
    SN_ASSIGN_OR_RETURN(const RoutinePath path,
                        make_path(*job_.graph, layers_, adapts_, selection));
    SN_ASSIGN_OR_RETURN(const auto plan,
                        build_plan(job_.core, job_.graph, job_.shapes, path, nullptr));
    SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, job_.inputs));
    SN_RETURN_IF_ERROR(bench.run().status());
    SN_ASSIGN_OR_RETURN(const double us, bench.run());
    StepSamples samples(bench.steps());
    contenders.push_back({selection, std::move(bench), std::move(samples), us});
  }
  return contenders;
}

// All samples of a candidate count, whichever path it was measured in. New times are scaled by the
// drift of the machine's speed since the known ones were measured, because they are compared with
// those of candidates that were not measured now.
void Tuner::learn_from(const std::vector<Contender>& contenders) {
  std::map<std::pair<std::size_t, int>, Samples> layers;
  std::map<std::string, std::pair<StepTime, Samples>> adapts;
  for (const Contender& contender : contenders)
    for (std::size_t s = 0; s < contender.bench.steps(); ++s) {
      const StepTime step = contender.bench.step_time(s, contender.samples);
      const Samples& samples = contender.samples.samples(s);
      if (step.source != kNoTensor) {
        auto& [same, all] = adapts[adapt_key(step.source, step.from, step.to)];
        same = step;
        all.add(samples);
      } else if (const int l = index_of(step); l >= 0) {
        const auto at = static_cast<std::size_t>(l);
        layers[{at, contender.selection.choice[at]}].add(samples);
      }
    }
  const auto candidate_of = [&](const std::pair<std::size_t, int>& key) -> Candidate& {
    return layers_[key.first].candidates[static_cast<std::size_t>(key.second)];
  };
  double before = 0, now = 0;
  for (const auto& [key, samples] : layers)
    if (const Candidate& candidate = candidate_of(key); candidate.net_us > 0) {
      before += candidate.net_us;
      now += samples.centre();
    }
  const double drift =
      before > 0 && now > 0 ? std::clamp(before / now, 1 / kMostDrift, kMostDrift) : 1;
  // A single comparison favours lucky candidates, so earlier comparisons count as well.
  const auto add = [&](MeanTime& mean, const Samples& samples) {
    mean.add(samples.centre() * drift, static_cast<double>(samples.count()));
    return mean.us;
  };
  for (const auto& [key, samples] : layers) {
    Candidate& candidate = candidate_of(key);
    set_net_time(key.first, candidate, add(candidate.compared, samples));
  }
  for (auto& [key, adapt] : adapts) {
    adapt.first.time_us = add(compared_adapts_[key], adapt.second);
    set_net_time(adapt.first);
  }
  cache_.flush();
}

Status Tuner::compare(const SelectionRules& rules, const Comparison& how) {
  SN_ASSIGN_OR_RETURN(std::vector<Contender> contenders, find_contenders(rules, how));
  if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
  if (contenders.size() < 2) return {};
  double round_us = 0;
  for (const Contender& contender : contenders) round_us += contender.run_us;
  const bool quick = round_us < kQuickUs * static_cast<double>(contenders.size());
  const int times = quick ? how.times + 2 : how.times;
  if (!first_runs_slower_) {
    SN_ASSIGN_OR_RETURN(first_runs_slower_, find_first_runs_slower(contenders, quick));
  }
  const std::int64_t us = how.run_us * times;
  const InterleavedSchedule schedule = InterleavedSchedule::in(
      static_cast<double>(us), round_us, kFewestRounds, kMostRounds * times, needs_warmup());
  const std::int64_t end = clock_ns() + kMostWaiting * 1000 * us;
  for (int round = 0; round < schedule.rounds && (round < 2 || !budget_.expired()); ++round) {
    if (round >= kFewestRounds && clock_ns() > end) break;
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    report_progress(how.stage, static_cast<std::size_t>(round),
                    static_cast<std::size_t>(schedule.rounds));
    for (Contender& contender : contenders) {
      SN_RETURN_IF_ERROR(contender.bench.warm_up(barrier_, schedule.warmup));
      for (int i = 0; i < schedule.measured; ++i)
        SN_RETURN_IF_ERROR(contender.bench.run_traced(contender.samples, barrier_, budget_));
    }
  }
  net_measured_ += contenders.size();
  learn_from(contenders);
  return {};
}

// Whether plans run slower right after another one, which has evicted what they keep in the caches
// from run to run. The cache residency of weights says the same, except for nets that just do not
// fit.
Result<bool> Tuner::find_first_runs_slower(std::vector<Contender>& contenders, bool quick) {
  Samples ratios;
  for (int round = 0; round < (quick ? kQuickProbes : 1); ++round)
    for (Contender& contender : contenders) {
      SN_ASSIGN_OR_RETURN(const double first, contender.bench.run());
      SN_ASSIGN_OR_RETURN(const double second, contender.bench.run());
      ratios.add(first / second);
    }
  return ratios.median() > kSlower;
}

// Whether measured runs need warm-up. On a disturbed machine they do even if first runs are no
// slower: other processes evict the weights in some runs only.
bool Tuner::needs_warmup() const {
  return barrier_.disturbed() ||
         first_runs_slower_.value_or(caches_.residency() != CacheResidency::memory);
}

// The path's cost by what is known now.
Result<double> Tuner::cost_of(const Selection& selection, SelectionRules rules) {
  rules.allowed = [&](const LayerCandidates& layer, const Candidate& candidate) {
    return selection.choice[place_of(layer)] == &candidate - layer.candidates.data();
  };
  SN_ASSIGN_OR_RETURN(const Selections only, select_paths(*job_.graph, layers_, adapts_, rules));
  return only.paths[0].cost_us;
}

// How many times as long comparisons of these candidates last. Small differences need more samples
// on a disturbed machine, and among more candidates, those of several data types.
int Tuner::repeat_factor(const std::string& what) const {
  const bool mixture = what.starts_with("all") && kinds().size() > 1;
  return options_.exhaustive ? 4 : barrier_.disturbed() || mixture ? 3 : 1;
}

// First every candidate that might be better, then, for longer, those that are still near. Once per
// cache, as passes are.
Status Tuner::compare_near_ties(const std::string& what, const SelectionRules& rules) {
  const std::string key = fmt::format("compared|{:x}|{}", whole_key_, what);
  if (cache_.find(key) != nullptr) return {};
  const int times = repeat_factor(what);
  for (const Comparison& how :
       {Comparison{0.1, kUnknownMargin, kOptimisticShare, 12, 600'000, times, "compare"},
        Comparison{0.04, 0.04, 1, 10, 900'000, times, "compare"}}) {
    const Status status = compare(rules, how);
    if (!status.ok() && status.code() != StatusCode::cancelled && !what.starts_with("all"))
      return {};  // this type cannot reach some layer
    SN_RETURN_IF_ERROR(status);
    if (budget_.expired()) return {};
  }
  cache_.put(key, {.time_us = 1});
  cache_.flush();
  return {};
}

// Selection bias: the minimum of noisy estimates is optimistic. Re-measure the winner beside its
// nearest near-ties until it stays about the best. This comes after all comparisons, which change
// the winner; once per cache.
Status Tuner::confirm(const std::string& what, const SelectionRules& rules) {
  const std::string key = fmt::format("confirmed|{:x}|{}", whole_key_, what);
  if (cache_.find(key) != nullptr) return {};
  SN_ASSIGN_OR_RETURN(Selections best, select_paths(*job_.graph, layers_, adapts_, rules));
  for (int again = 0; again < kMostConfirmations; ++again) {
    const Selection last = best.paths[0];
    SN_RETURN_IF_ERROR(compare(rules, {0.03, 0.03, 1, 8, 600'000, repeat_factor(what), "confirm"}));
    if (budget_.expired()) return {};
    SN_ASSIGN_OR_RETURN(best, select_paths(*job_.graph, layers_, adapts_, rules));
    SN_ASSIGN_OR_RETURN(const double last_us, cost_of(last, rules));
    if (last_us <= kConfirmed * best.paths[0].cost_us) break;
  }
  cache_.put(key, {.time_us = 1});
  cache_.flush();
  return {};
}

}  // namespace softneuro
