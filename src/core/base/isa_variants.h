// Choosing among what a file is compiled for (the table in cmake/SoftNeuroIsa.cmake, from which
// isa_sets.h is generated): each set says which features of the processor it requires.
//
// A table of functions that a *.isa.cpp file defines once per variant:
//
//   x.h          struct XOps { void (*f)(…) noexcept; };
//                const XOps& x_ops() noexcept;                      // the best for this processor
//                const XOps& x_ops(CpuFeatures features) noexcept;  // the best for these features
//   x.isa.cpp    namespace softneuro::SN_ISA_NAMESPACE {
//                extern const XOps kXOps;
//                const XOps kXOps = {f};
//                }
//   another.cpp  SN_CHOOSE_VARIANT(XOps, kXOps, x_ops)   // within namespace softneuro
//
// A file for one set, x_avx512vnni.cpp: its callers ask usable_features().has(isa::avx512vnni),
// within #if SN_HAS_AVX512VNNI, since other builds have no such file.
#pragma once

#include "core/base/cpu.h"
#include "isa_sets.h"

namespace softneuro {

// The best variant of *.isa.cpp files for a processor with these features.
constexpr const IsaSet& best_variant(CpuFeatures features) noexcept {
  const IsaSet* best = &kIsaSets[0];
  for (const IsaSet& set : kIsaSets)
    if (set.is_variant && features.has(set.needs)) best = &set;
  return *best;
}

}  // namespace softneuro

#define SN_DECLARE_VARIANT(set, Type, object) \
  namespace set {                             \
  extern const Type object;                   \
  }
#define SN_RETURN_VARIANT(set, object) \
  if (features.has(isa::set)) return set::object;
#define SN_CHOOSE_VARIANT(Type, object, function)                        \
  SN_DECLARE_VARIANT(baseline, Type, object)                             \
  SN_FOR_EACH_VARIANT(SN_DECLARE_VARIANT, Type, object)                  \
  const Type& function([[maybe_unused]] CpuFeatures features) noexcept { \
    SN_FOR_EACH_VARIANT(SN_RETURN_VARIANT, object)                       \
    return baseline::object;                                             \
  }                                                                      \
  const Type& function() noexcept {                                      \
    return function(usable_features());                                  \
  }
