// Where the time of a net goes: one row per step of its plan, measured inside the net.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/routine/layer_cost.h"
#include "measure.h"

namespace softneuro::tool {

struct ProfileRow {
  std::string layer;    // name
  std::string type;     // layer type: "conv2"
  std::string routine;  // descriptor; the layer's own choice at run time where shapes are dynamic
  std::string params;   // of the routine: "tile_size=4"; empty if it has none
  std::string formats;  // "float32:nhwc"; "float32 -> qint8:nhwc" where tensors differ
  std::string output;   // shape of output 0: "1x64x56x56"; "?" where it depends on data
  std::vector<std::string> sources;  // nodes of the imported model that the layer stands for
  double us = 0;                     // mean over the quiet runs, see NetProfile
  double median_us = 0;              // over all runs
  double min_us = 0;
  bool has_cost = false;  // not where shapes depend on data
  LayerCost cost;

  double gflops() const { return us > 0 ? 2e-3 * cost.macs / us : 0; }
  double gigabytes_per_second() const { return us > 0 ? 1e-3 * cost.bytes / us : 0; }
};

// When a step ran, in ns since the beginning of its run.
struct StepSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
};

// Runs with and without clocks between the steps take turns. Of the runs with clocks the middle
// half by total time counts as quiet; a row's `us` is its mean over those, so that rows add up to
// the time of whole runs, which medians of rows do not.
struct NetProfile {
  std::vector<ProfileRow> rows;
  double sum_us = 0;            // of the rows
  RunTimes untraced;            // whole runs without clocks: what sum_us should agree with
  RunTimes traced;              // whole runs with clocks
  std::vector<StepSpan> spans;  // of the run whose total is the median, one per row
  std::int64_t run_ns = 0;      // how long that run took in all

  double share(const ProfileRow& row) const { return sum_us > 0 ? row.us / sum_us : 0; }
  // sum_us over the same mean of the untraced runs; 1: they agree.
  double agreement() const;
};

// Measures for `seconds`, at least three pairs of runs.
Result<NetProfile> profile_layers(PreparedRun& run, double seconds);

}  // namespace softneuro::tool
