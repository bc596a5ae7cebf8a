// What shape inference and routines of center_crop_pad share.
#pragma once

#include "core/layers/pad.h"
#include "softneuro/export.h"

namespace softneuro {

// From `size` elements to `target`: half of the difference on either side, the odd element behind.
SN_INTREE PadAmount center_crop_pad_amount(std::int64_t size, std::int64_t target) noexcept;

}  // namespace softneuro
