// Which elements of an axis each output index of a resize reads, and with which weights.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layers/resize.h"
#include "core/routine/problem.h"

namespace softneuro {

struct ResizeTaps {
  std::int64_t per_output = 1;
  std::vector<std::int64_t> index;  // [output][per_output], each within the axis
  std::vector<double> weight;       // likewise; they sum to 1
  std::vector<bool> outside;        // [output]: takes the extrapolation value instead; or empty
};

// The axes of a problem whose shapes come from inference.
SN_INTREE Result<std::vector<ResizeAxis>> resize_axes(const Problem& problem);

// Precondition: input and output of `axis` are known; the input has elements if the output has.
SN_INTREE ResizeTaps resize_taps(const ResizeOptions& options, const ResizeAxis& axis);

}  // namespace softneuro
