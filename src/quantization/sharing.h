// From what was seen of each tensor to one quantisation per tensor.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "quantization/calibration.h"
#include "quantization/histogram.h"

namespace softneuro {

// One quantisation per tensor of the graph; nothing for constants, for tensors of which
// `histograms` (by tensor) saw no value, or one that is not finite. Tensors between which elements
// only move (views, max pools, transposes…) share one; so do a concatenation and its inputs, unless
// one of them would lose more than two bits by it. What the model says itself stands.
// Precondition: the layers are sorted.
std::vector<std::optional<Quantization>> choose_quantizations(
    const Graph& graph, const std::vector<Histogram>& histograms,
    const CalibrationOptions& options);

}  // namespace softneuro
