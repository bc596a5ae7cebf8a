// Choosing among the variants of a table of functions that a *.isa.cpp file defines once per
// instruction set:
//
//   x.h          struct XOps { void (*f)(…) noexcept; };
//                const XOps& x_ops() noexcept;         // for this processor
//                const XOps& x_ops(Isa isa) noexcept;  // for a lower instruction set: tests
//   x.isa.cpp    namespace softneuro::SN_ISA_NAMESPACE {
//                extern const XOps kXOps;
//                const XOps kXOps = {f};
//                }
//   another.cpp  SN_CHOOSE_VARIANT(XOps, kXOps, x_ops)   // within namespace softneuro
#pragma once

#include "core/base/cpu.h"

#if defined(SN_ISA_X86)
#define SN_CHOOSE_VARIANT(Type, object, function)              \
  namespace baseline {                                         \
  extern const Type object;                                    \
  }                                                            \
  namespace avx2 {                                             \
  extern const Type object;                                    \
  }                                                            \
  namespace avx512 {                                           \
  extern const Type object;                                    \
  }                                                            \
  const Type& function(Isa isa) noexcept {                     \
    if (isa == Isa::avx512) return avx512::object;             \
    return isa == Isa::avx2 ? avx2::object : baseline::object; \
  }                                                            \
  const Type& function() noexcept {                            \
    return function(current_isa());                            \
  }
#else
#define SN_CHOOSE_VARIANT(Type, object, function) \
  namespace baseline {                            \
  extern const Type object;                       \
  }                                               \
  const Type& function(Isa) noexcept {            \
    return baseline::object;                      \
  }                                               \
  const Type& function() noexcept {               \
    return baseline::object;                      \
  }
#endif
