// What the stages of one tuning share.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/workers.h"
#include "profiler/cache/profile_cache.h"
#include "profiler/measure/budget.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/pool_barrier.h"
#include "profiler/select/search_space.h"
#include "profiler/tune/tune_job.h"

namespace softneuro {

// More members than other classes have: whatever more than one stage needs is here, and each stage
// keeps the rest to itself.
struct TuneContext {
  // Opens the profile cache. Call it before threads are pinned: it names the machine, and so counts
  // the cores that this process may use, once for its whole life.
  explicit TuneContext(const TuneJob& given);

  Result<std::shared_ptr<const Plan>> plan_of(const RoutinePath& path) const;
  std::size_t constant_bytes() const;  // of the graph

  // So many times as many samples, rounds and finalists as usual.
  int times() const { return options.effort.exhaustive ? constants::kExhaustiveTimes : 1; }
  // times() · `count`, which is the caller's: less than 1 counts as 1.
  int times_as_many(int count) const {
    return times() * std::clamp(count, 1, std::numeric_limits<int>::max() / times());
  }
  bool is_time_limited() const { return options.time_limit.count() > 0; }
  // A stage ends when this share of a time limit is over, without what the verification will take.
  void end_stage_at(double share);
  Status check_cancelled() const { return softneuro::check_cancelled(budget.cancel); }

  // Leaves out rows of the cache that were measured on a disturbed machine, unless this one is so.
  void forget_disturbed_rows();

  // The tuning lasts for so long from now on, at most (TuneProgress::seconds_left).
  void expect(double seconds);

  // Keys of the profile cache, for a candidate and for an adapt inside the net; and what its keys
  // say of a path.
  RowKey net_key(const LayerCandidates& layer, const Candidate& candidate) const;
  RowKey adapt_key(TensorId tensor, const Format& from, const Format& to) const;
  std::string path_key(const RoutinePath& path) const;

  void warn(std::string message, LogLevel level = LogLevel::warning);
  void report_progress(const char* stage, std::size_t done, std::size_t total,
                       const std::string& layer = {}, const std::string& candidate = {},
                       double best_us = 0) const;

  // Whether plans run slower right after another one, which has evicted what they keep in the
  // caches from run to run; large ones keep nothing there. On a disturbed machine other processes
  // evict it as well, in some runs only.
  bool needs_warmup() const;

  const TuneJob& job;
  const TuneOptions& options;
  TuneBudget budget;
  ProfileCache cache;
  PoolBarrier barrier;
  std::uint64_t graph_key;
  std::uint64_t whole_key;  // of the graph, its inputs' shapes and all routines there are
  SearchSpace space;
  RoutinePath default_path;  // what an untuned net runs on
  // TuneJob::known_path, where it applies here and the time is limited.
  std::optional<RoutinePath> known_path;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point expected_end = std::chrono::steady_clock::time_point::max();
  std::size_t measured = 0, cached = 0;  // plans that were run, or that the cache knows
  bool complete = true;                  // TuneReport::complete
  double gap = 0;                        // TuneReport::gap
  std::vector<std::string> warnings = job.warnings;
};

}  // namespace softneuro
