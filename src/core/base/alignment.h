#pragma once

#include <cstddef>

#include "softneuro/allocator.h"

namespace softneuro {

// Rounded up, so that what follows is aligned to kTensorAlignment.
constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

}  // namespace softneuro
