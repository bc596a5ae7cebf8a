#include "profiler/tune/net_search.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/interleaved_schedule.h"
#include "profiler/tune/finalist.h"

namespace softneuro {
namespace {

// Of each search, at most.
std::size_t rounds_of(const TuneContext& context) {
  return static_cast<std::size_t>(context.times_as_many(context.options.effort.rounds));
}

// The mixture's, and each kind's where there are several.
std::size_t searches(const TuneContext& context) {
  const std::size_t kinds = context.space.kinds().size();
  return kinds > 1 ? 1 + kinds : 1;
}

// "float32", "cuda:tf32".
std::string name_of(const Kind& kind) {
  const auto& [device, precision] = kind;
  return (device.is_host() ? std::string() : device.c_str() + std::string(":")) +
         to_string(precision);
}

}  // namespace

double NetSearch::most_seconds(const TuneContext& context) {
  return static_cast<double>(searches(context) * rounds_of(context)) *
             (constants::kFinalSeconds + constants::kRoundSeconds) +
         final_seconds(context);
}

// The best path by what is known, then paths that might be better: in these each candidate that no
// path before has taken costs the least that it may.
Result<std::vector<NetSearch::Contender>> NetSearch::find_contenders(SelectionRules rules) {
  std::vector<std::set<int>> taken(context_.space.layers.size());
  rules.noise = noise_;
  rules.optimistic = [&](const LayerCandidates& layer, const Candidate& candidate) {
    const auto& known = taken[context_.space.place_of(layer)];
    return !known.empty() &&
           !known.contains(static_cast<int>(&candidate - layer.candidates.data()));
  };
  const std::size_t most = std::clamp<std::size_t>(
      constants::kPathsBytes / (context_.constant_bytes() + 1), 2, constants::kMostPaths);
  std::vector<Contender> contenders;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> allowed(constants::kFinalSeconds);
  // At most half of a time limit: what is made has to be run.
  const auto made_by =
      now + std::min((context_.budget.end - now) / 2,
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(allowed));
  while (contenders.size() < most && context_.check_cancelled().ok() &&
         !context_.budget.expired()) {
    if (contenders.size() > 1 && std::chrono::steady_clock::now() > made_by) break;
    SN_ASSIGN_OR_RETURN(const Selections best, context_.space.select(rules));
    const Selection& selection = best.paths[0];
    if (contenders.empty())
      context_.gap = best.gap;
    else if (selection.cost_us > (1 - constants::kLeastGain) * contenders[0].selection.cost_us)
      break;
    for (std::size_t l = 0; l < context_.space.layers.size(); ++l)
      taken[l].insert(selection.choice[l]);
    SN_ASSIGN_OR_RETURN(const RoutinePath path, context_.space.path_of(selection));
    SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(path));
    SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, context_.job.inputs));
    SN_RETURN_IF_ERROR(bench.run().status());
    SN_ASSIGN_OR_RETURN(const double us, bench.run());
    StepSamples samples(bench.steps());
    contenders.push_back({selection, std::move(bench), std::move(samples), us});
  }
  return contenders;
}

// All samples of a candidate count, whichever path it was measured in. New times are scaled by the
// drift of the machine's speed since the known ones were measured, because they are compared with
// those of candidates that were not measured now. A single round favours lucky candidates, so
// earlier ones count as well.
void NetSearch::learn_from(const std::vector<Contender>& contenders) {
  std::map<std::pair<std::size_t, int>, Samples> layers;
  struct Adapt {
    TensorId tensor;
    Format from, to;
    Samples samples;
  };
  std::map<RowKey, Adapt> adapts;
  for (const Contender& contender : contenders) {
    const PlanImpl& plan = impl_of(*contender.bench.plan());
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      const Samples& samples = contender.samples.samples(s);
      if (step.layer->type->is_adapt()) {
        const TensorId tensor = step.inputs[0];  // of the original graph
        const Format &from = plan.tensors[tensor].format,
                     &to = plan.tensors[step.outputs[0]].format;
        adapts.try_emplace(context_.adapt_key(tensor, from, to), Adapt{tensor, from, to, {}})
            .first->second.samples.add(samples);
      } else if (const auto found = context_.space.index_of.find(step.layer->id);
                 found != context_.space.index_of.end()) {
        layers[{found->second, contender.selection.choice[found->second]}].add(samples);
      }
    }
  }
  const auto candidate_of = [&](const std::pair<std::size_t, int>& key) -> Candidate& {
    return context_.space.layers[key.first].candidates[static_cast<std::size_t>(key.second)];
  };
  double before = 0, now = 0, all = 0, spread = 0;
  for (const auto& [key, samples] : layers) {
    all += samples.centre();
    spread += samples.spread();
    if (const Candidate& candidate = candidate_of(key); candidate.in_net.us > 0) {
      before += candidate.in_net.us;
      now += samples.centre();
    }
  }
  if (all > 0) noise_ = spread / all;
  const double drift = before > 0 && now > 0 ? std::clamp(before / now, 1 / constants::kMostDrift,
                                                          constants::kMostDrift)
                                             : 1;
  const auto add = [&](MeanTime& mean, const Samples& samples) {
    mean.add(samples.centre() * drift, static_cast<double>(samples.count()));
  };
  for (const auto& [key, samples] : layers) {
    Candidate& candidate = candidate_of(key);
    add(candidate.in_net, samples);
    context_.cache.put(context_.net_key(context_.space.layers[key.first], candidate),
                       Profile{.time_us = candidate.in_net.us,
                               .samples = candidate.in_net.samples,
                               .disturbed = context_.barrier.disturbed()});
  }
  for (const auto& [key, adapt] : adapts) {
    MeanTime& mean = adapts_in_net_[key];
    add(mean, adapt.samples);
    context_.space.adapts.set_net_time(adapt.tensor, adapt.from, adapt.to, mean.us);
    context_.cache.put(key, Profile{.time_us = mean.us, .disturbed = context_.barrier.disturbed()});
  }
  context_.cache.flush();
}

bool NetSearch::is_measured_in_net(const Selection& selection) const {
  for (std::size_t l = 0; l < context_.space.layers.size(); ++l) {
    const Candidate& candidate = context_.space.candidate_of(selection, l);
    if (candidate.routine != nullptr && candidate.in_net.samples == 0) return false;
  }
  return true;
}

// One round. False: the best path was measured, and no other may gain kLeastGain.
Result<bool> NetSearch::search_round(const SelectionRules& rules, std::size_t round,
                                     std::size_t rounds) {
  SN_ASSIGN_OR_RETURN(std::vector<Contender> contenders, find_contenders(rules));
  SN_RETURN_IF_ERROR(context_.check_cancelled());
  if (contenders.empty() || context_.budget.expired()) return true;
  if (contenders.size() < 2 && is_measured_in_net(contenders[0].selection)) return false;
  double round_us = 0;
  for (const Contender& contender : contenders) round_us += contender.run_us;
  SN_RETURN_IF_ERROR(run_round(contenders, round_us, round, rounds));
  context_.measured += contenders.size();
  learn_from(contenders);
  return true;
}

Status NetSearch::run_round(std::vector<Contender>& contenders, double round_us, std::size_t round,
                            std::size_t rounds) {
  // Small differences need more samples on a disturbed machine.
  const int times =
      std::max(context_.times(), context_.barrier.disturbed() ? constants::kDisturbedRuns : 1);
  const double us = 1e6 * times * constants::kRoundSeconds;
  const InterleavedSchedule schedule =
      InterleavedSchedule::in(us, round_us, context_.needs_warmup(), times);
  // Waiting for preempted threads may take longer than the runs.
  const std::int64_t end =
      clock_ns() + static_cast<std::int64_t>(1e3 * constants::kMostWaiting * us);
  for (int turn = 0; turn < schedule.rounds && (turn < 1 || !context_.budget.expired()); ++turn) {
    if (turn >= constants::kFewestRuns && clock_ns() > end) break;
    SN_RETURN_IF_ERROR(context_.check_cancelled());
    context_.report_progress("net", round, rounds);
    for (Contender& contender : contenders) {
      SN_RETURN_IF_ERROR(contender.bench.warm_up(schedule.warmup));
      for (int i = 0; i < schedule.measured; ++i)
        SN_RETURN_IF_ERROR(
            contender.bench.run_traced(contender.samples, context_.barrier, context_.budget));
    }
  }
  return {};
}

// At most so many rounds, those of earlier tunings with this cache included. False: the time is up.
Result<bool> NetSearch::search_among(const std::string& what, const SelectionRules& rules) {
  const RowKey key = row_key(RowKind::search_rounds, context_.whole_key, what);
  const std::size_t rounds = rounds_of(context_);
  const Fact* const before = context_.cache.find<Fact>(key);
  std::size_t round = before == nullptr ? 0 : static_cast<std::size_t>(before->value);
  ++searches_done_;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t done = 0; round < rounds; ++done) {
    SN_RETURN_IF_ERROR(context_.check_cancelled());
    if (context_.budget.expired()) return false;
    if (done > 0) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      const std::size_t left = rounds - round + (searches(context_) - searches_done_) * rounds;
      context_.expect(passed.count() / static_cast<double>(done) * static_cast<double>(left) +
                      final_seconds(context_));
    }
    context_.report_progress("net", round, rounds);
    const Result<bool> news = search_round(rules, round, rounds);
    if (!news.ok() && news.status().code() != StatusCode::cancelled && !what.starts_with("all"))
      break;  // this kind cannot reach some layer
    SN_RETURN_IF_ERROR(news.status());
    round = *news ? round + 1 : rounds;
    if (context_.budget.expired()) return false;
    context_.cache.put(key, Fact{.value = static_cast<std::int64_t>(round),
                                 .disturbed = context_.barrier.disturbed()});
  }
  context_.cache.flush();
  return true;
}

void NetSearch::recall() {
  for (LayerCandidates& layer : context_.space.layers)
    for (Candidate& candidate : layer.candidates) {
      if (candidate.routine == nullptr) continue;
      const Profile* const known = context_.cache.find(context_.net_key(layer, candidate));
      if (known == nullptr) continue;
      candidate.in_net = {known->time_us, known->samples};
      ++context_.cached;
    }
}

// The mixture of all kinds, then each kind alone: what the mixture has to beat must be known as
// well as the mixture.
Status NetSearch::run() {
  recall();
  std::size_t candidates = 0;  // with others there is more to explore
  for (const LayerCandidates& layer : context_.space.layers) candidates += layer.candidates.size();
  const std::string among =
      fmt::format("{} of {}", fmt::join(context_.job.rules.schemas, ","), candidates);
  context_.expect(most_seconds(context_));
  SN_ASSIGN_OR_RETURN(bool in_time, search_among("all|" + among, memory_.rules()));
  if (const std::set<Kind> all = context_.space.kinds(); all.size() > 1)
    for (const Kind& kind : all)
      if (in_time) {
        const std::string what = name_of(kind) + '|' + among;
        SelectionRules single = memory_.rules();
        single.allowed = only_kind(kind);
        SN_ASSIGN_OR_RETURN(in_time, search_among(what, single));
      }
  context_.complete = context_.complete && in_time;
  return {};
}

}  // namespace softneuro
