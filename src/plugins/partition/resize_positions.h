// Whether a library that resizes reads the elements that a layer means.
#pragma once

#include <functional>

#include "cpu/tensor/resize_taps.h"

namespace softneuro {

// Whether linear interpolation at `position`(output index), in elements of the axis and kept within
// it, is what `taps` say.
bool interpolates_at(const ResizeTaps& taps, std::int64_t outputs, std::int64_t inputs,
                     const std::function<double(std::int64_t)>& position);

}  // namespace softneuro
