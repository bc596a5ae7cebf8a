// What shape inference and routines of center_crop_pad share.
#pragma once

#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/graph/params.h"
#include "core/layers/pad.h"

namespace softneuro {

// The axes that `rank` and the parameter "axes" mean, in [0, rank), one per size. invalid_model if
// an axis is out of range or named twice, if there are not as many as `sizes`, or a size is
// negative.
SN_INTREE Result<std::vector<int>> center_crop_pad_axes(const Params& params, int rank,
                                                        std::span<const std::int64_t> sizes);

// From `size` elements to `target`: half of the difference on either side, the odd element behind.
SN_INTREE PadAmount center_crop_pad_amount(std::int64_t size, std::int64_t target) noexcept;

}  // namespace softneuro
