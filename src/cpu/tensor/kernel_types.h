// Kernels that are compiled once per element type (pools, resizes), and what a small edge build
// leaves of them: see cmake/SoftNeuroEdge.cmake.
#pragma once

#include "softneuro/types.h"

namespace softneuro {

#if defined(SN_FLOAT32_KERNELS)
inline constexpr bool kFloat32KernelsOnly = true;
#else
inline constexpr bool kFloat32KernelsOnly = false;
#endif

// Whether this build has such kernels for elements of `type`. Routines refuse what it has not.
constexpr bool has_kernels_of(DataType type) noexcept {
  return !kFloat32KernelsOnly || type == DataType::float32;
}

}  // namespace softneuro
