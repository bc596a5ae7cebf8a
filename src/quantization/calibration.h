// Post-training calibration: runs a net in floating point over samples, watches its tensors, and
// gives each a quantisation (uint8, asymmetric, per tensor; 0 is exactly one of the levels).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "softneuro/net.h"
#include "softneuro/tune.h"

namespace softneuro {

struct CalibrationOptions {
  RangeChoice range = RangeChoice::mse;
  double percentile = 99.99;  // in (50, 100]; of the values of one tensor over all samples
  // Inner tensors that one run keeps, in bytes; where the net has more, each sample runs several
  // times, for some of its tensors at a time.
  std::size_t max_bytes = std::size_t{512} << 20;
  // Numbers that messages call the samples by; empty: 0, 1, …
  std::vector<std::size_t> numbers = {};
};

// Sample i of 0, 1, …: one tensor per input of the net, by name. Nothing: there are no more. An
// error ends calibration.
using CalibrationSamples = std::function<Result<std::optional<NamedTensors>>(std::size_t)>;

struct CalibrationResult {
  // By tensor name: real tensors that are no constants. Tensors in which NaN or infinities turned
  // up, or which no sample filled, have none, and stay in floating point.
  std::map<std::string, Quantization, std::less<>> quantizations;
  // What looks wrong with the samples, one sentence each: constant or repeated samples, ranges that
  // differ wildly between samples, tensors that are not finite, or never change. To be shown.
  std::vector<std::string> warnings;
  std::size_t samples = 0;
};

// Runs `net` as it is planned by default (in floating point) over all samples. invalid_argument,
// naming the sample, where there is no sample, one lacks an input, has another shape or data type
// than the net takes, or holds NaN or infinities.
Result<CalibrationResult> calibrate(const Net& net, const CalibrationSamples& samples,
                                    const CalibrationOptions& options = {});

// Removes what an earlier calibration found; what the model brought along stays.
SN_INTREE void forget_calibration(Graph& graph);
// Writes the quantisations into the graph's tensors of those names, and removes what an earlier
// calibration left on others. A quantisation that the model brought along stays, and only gets the
// means of its channels. invalid_argument if a tensor is missing: the result belongs to another
// graph.
Status annotate(Graph& graph, const CalibrationResult& result);

}  // namespace softneuro
