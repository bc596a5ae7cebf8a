// The stages of tuning in order: candidates, unit profiles, the search inside the net, finalists
// (the SoftNeuro paper, sections IV and V; docs/internals/tuner.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/net_problems.h"
#include "net/tuned_plan.h"
#include "profiler/measure/interleaved_schedule.h"
#include "profiler/measure/net_profile.h"
#include "profiler/select/selection.h"
#include "profiler/select/unit_profile.h"
#include "profiler/tune/answer_error.h"
#include "profiler/tune/sensitivity.h"
#include "profiler/tune/tune_job.h"
#include "profiler/tune/verification.h"

namespace softneuro {

// Bytes of the plan's arenas, on all devices, and of its packed weights.
std::size_t plan_memory(const Plan& plan);

class Tuner {
 public:
  explicit Tuner(const TuneJob& job);
  Result<TuneResult> run();

 private:
  // One path that is run end to end.
  struct Finalist {
    Selection selection;  // empty: a path of default choices
    RoutinePath path;
    double time_us = 0;
    double uncertainty_us = 0;  // two standard errors of it
    std::size_t memory = 0;     // memory_of(path)
    double error = 0;           // by TuneOptions::metric, or what its score loses
    ErrorInterval interval;
    AnswerError errors;
  };

  Status find_candidates();
  Status drop_what_half_cannot_hold();
  std::size_t constant_bytes() const;
  bool is_time_limited() const { return options_.time_limit.count() > 0; }
  void end_stage_at(double share);
  void put_promising_first();
  int default_candidate(const LayerCandidates& layer) const;
  double effort_of(const LayerCandidates& layer) const;
  Status profile_units();
  Status fall_back_to_float32(std::size_t index);
  void recall_net_times();
  using Kind = std::pair<DeviceId, DataType>;  // of candidates
  static Kind kind_of(const Candidate& candidate);
  std::set<Kind> kinds(bool fallbacks = true) const;
  SelectionRules single_kind_rules(const Kind& kind) const;
  const Candidate& candidate_of(const Selection& selection, std::size_t layer) const {
    return layers_[layer].candidates[static_cast<std::size_t>(selection.choice[layer])];
  }
  // In layers_, of which it is one.
  std::size_t place_of(const LayerCandidates& layer) const {
    return static_cast<std::size_t>(&layer - layers_.data());
  }
  struct Contender;
  Result<std::vector<Contender>> find_contenders(SelectionRules rules);
  void learn_from(const std::vector<Contender>& contenders);
  Result<bool> find_first_runs_slower(std::vector<Contender>& contenders, double round_us);
  bool needs_warmup() const;
  bool is_measured_inside(const Selection& selection) const;
  Result<bool> search_round(const SelectionRules& rules, std::size_t round, std::size_t rounds);
  Result<bool> search_among(const std::string& what, const SelectionRules& rules);
  Status search();
  Result<bool> add_finalist(std::vector<Finalist>& finalists, const Selection& selection);
  Status add_single_kind_finalists(std::vector<Finalist>& finalists);
  Result<Finalist> default_finalist(const RoutinePath& path) const;
  Result<std::vector<Finalist>> find_finalists();
  struct Race;
  Status race(std::vector<Finalist>& finalists);
  Result<Race> make_race(const std::vector<Finalist>& finalists);
  Status run_turn(Race& race, std::size_t contender, const InterleavedSchedule& schedule);
  Status run_rounds(Race& race, const InterleavedSchedule& schedule);
  double error_limit() const;
  NamedTensors named(const std::vector<Tensor>& outputs) const;
  Result<double> score_of(const std::vector<NamedTensors>& answers) const;
  Status measure_error(Finalist& finalist);
  const std::string& validation_digest();
  Result<bool> keeps_limit(Finalist& finalist);
  bool is_allowed(const Finalist& finalist) const;
  void put_in_order(std::vector<Finalist>& finalists) const;
  SelectionRules float32_rules() const;
  std::chrono::steady_clock::time_point end_of_search() const;
  Status measure_sensitivity(const Finalist& rounded);
  // A reduced type of a layer.
  struct Rounding {
    std::size_t layer = 0;
    DataType type = DataType::undefined;
    double worth = 0;
  };
  std::vector<Rounding> roundings(bool by_time) const;
  bool has_rounding(const Selection& selection, const Rounding& rounding) const;
  Result<std::optional<Finalist>> find_rounded(std::span<const Rounding> roundings,
                                               const Finalist& than);
  Result<Finalist> take_layers_out(const Finalist& fastest, std::span<const Rounding> order);
  Status put_layers_back(Finalist& best, std::span<const Rounding> order);
  Result<Finalist> within_limit(std::vector<Finalist> ranked, double& untuned_us);
  std::vector<LayerSensitivity> sensitivity_rows(const Finalist& chosen) const;
  Result<std::size_t> memory_of(const RoutinePath& path) const;
  struct Sized {
    Selection selection;
    std::size_t memory = 0;  // memory_of its path
  };
  Result<Sized> select_within(const SelectionRules& rules);
  struct Fitting {
    Selection selection;
    std::size_t bound = 0;              // of what the solver counts; 0: none is needed
    std::optional<Selection> smallest;  // where one is
  };
  Result<Fitting> fit_memory(SelectionRules rules);
  Status find_memory_bound();
  std::vector<double> step_times(NetBench& bench);
  Status verify(const std::shared_ptr<const Plan>& plan, const RoutinePath& path,
                std::span<const Tensor> answer);
  std::vector<NotChosen> not_chosen(const std::set<Kind>& kinds, const Selection& selection,
                                    std::size_t layer) const;
  bool is_put_back(const Selection& selection, std::size_t layer, const Candidate& candidate) const;
  Result<TuneResult> report(const Finalist& chosen, const std::shared_ptr<const Plan>& plan,
                            std::span<const double> times, double untuned_us);

  SelectionRules rules() const;
  Result<AdaptChoice> measure_adapt(TensorId tensor, const Format& from, const Format& to);
  std::string net_key(const LayerCandidates& layer, const Candidate& candidate) const;
  std::uint64_t whole_key() const;
  std::string adapt_key(TensorId tensor, const Format& from, const Format& to) const;
  std::string path_key(const RoutinePath& path) const;
  std::string verification_key(const RoutinePath& path, std::span<const Tensor> answer) const;
  void report_progress(const char* stage, std::size_t done, std::size_t total,
                       const std::string& layer = {}, const std::string& candidate = {},
                       double best_us = 0) const;
  void warn(std::string message, LogLevel level = LogLevel::warning);

  const TuneJob& job_;
  const TuneOptions& options_;
  TuneBudget budget_;
  ProfileCache cache_;
  PoolBarrier barrier_;
  ColdCaches caches_;
  UnitProfiler units_;
  AdaptTimes adapts_;
  std::map<std::string, MeanTime> adapts_inside_;  // as Candidate::inside, by adapt_key()
  std::optional<bool> first_runs_slower_;          // nothing before the first round
  double noise_ = kUsualNoise;                     // of samples inside the net, as last seen
  NetProblems problems_;
  RoutinePath default_path_;  // what an untuned net runs on
  std::vector<LayerCandidates> layers_;
  std::unordered_map<LayerId, std::size_t> layer_index_;  // in layers_
  std::vector<const TensorSpec*> specs_;  // per tensor of the graph: shape and quantisation
  std::uint64_t graph_key_ = 0;
  std::uint64_t whole_key_ = 0;  // of the graph, its inputs' shapes and all routines there are
  double gap_ = 0;
  double difference_ = 0;     // TuneReport::difference
  std::size_t verified_ = 0;  // sets of inputs
  std::chrono::steady_clock::time_point begin_;
  std::size_t net_measured_ = 0, net_from_cache_ = 0;
  bool complete_ = true;
  std::size_t memory_bound_ = 0;       // of what the solver counts; 0: none
  std::optional<Selection> smallest_;  // where the fastest path takes more than max_memory
  std::vector<std::string> warnings_;

  Sensitivity sensitivity_;
  // What sensitivity was measured between.
  std::optional<Selection> sensitivity_base_;
  Selection sensitivity_rounded_;
  std::optional<double> reference_score_;
  bool is_limit_kept_ = true;
  double least_error_ = INFINITY;  // of what was measured
  std::string validation_digest_;
};

}  // namespace softneuro
