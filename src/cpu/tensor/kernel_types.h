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
// Calls f with an element of that type: float32, float16, bfloat16, int8 or uint8.
template <class F>
void with_kernel_type(DataType type, F&& f) noexcept {
  if constexpr (kFloat32KernelsOnly) return f(float{});
  switch (type) {
    case DataType::float16:
      return f(Half{});
    case DataType::bfloat16:
      return f(BFloat16{});
    case DataType::int8:
      return f(std::int8_t{});
    case DataType::uint8:
      return f(std::uint8_t{});
    default:
      return f(float{});
  }
}

}  // namespace softneuro
