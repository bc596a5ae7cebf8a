// col2im: from products per input and kernel position to the output plane of a transposed
// convolution.
#pragma once

#include "core/layers/window.h"

namespace softneuro {

// Adds product[kernel position][input position] to the elements of `y` that they meet.
void col2im(const Window& window, const float* product, float* y) noexcept;

}  // namespace softneuro
