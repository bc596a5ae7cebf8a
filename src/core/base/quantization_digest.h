// Quantisations as short texts, for keys.
#pragma once

#include <string>

#include "softneuro/tensor.h"

namespace softneuro {

// Equal for quantisations that map the same numbers; channel means do not count.
std::string digest_of(const Quantization& quantization);

}  // namespace softneuro
