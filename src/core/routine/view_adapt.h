// Adapts that change no byte: their output is a view.
#pragma once

#include "core/routine/format.h"
#include "softneuro/export.h"
#include "softneuro/shape.h"

namespace softneuro {

// Whether a tensor of `shape` has the same bytes in both formats, so that one may be a view of the
// other. `same_quantization`: if both are qint8, they mean the same numbers.
SN_INTREE bool is_view_adapt(const Shape& shape, Format from, Format to, bool same_quantization);

}  // namespace softneuro
