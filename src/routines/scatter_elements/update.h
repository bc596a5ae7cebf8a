// How scatter_elements and scatter_nd write one element.
#pragma once

#include "core/base/tensor_view.h"
#include "core/layers/scatter.h"

namespace softneuro {

// y[at] = reduction(y[at], updates[from]); both of one type. Real numbers in double, integers
// exactly (sums and products wrap around).
void scatter_element(ScatterReduction reduction, const TensorView& y, std::int64_t at,
                     const TensorView& updates, std::int64_t from) noexcept;

}  // namespace softneuro
