// What this processor can do, as far as routines are allowed to use it. What files may be compiled
// for, and what of this that needs: core/base/isa_variants.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "softneuro/export.h"

namespace softneuro {

// What routines, ours and those of libraries, choose by; a bit each. Of all architectures: a
// processor has those of its own. Named as in /proc/cpuinfo, but for avx2 and avx512.
enum class CpuFeature : std::uint32_t {
  avx2 = 1u << 0,    // with FMA and F16C
  avx512 = 1u << 1,  // F, BW, DQ, VL
  avx_vnni = 1u << 2,
  avx512_vnni = 1u << 3,
  avx512_bf16 = 1u << 4,
  avx512_fp16 = 1u << 5,
  amx_int8 = 1u << 6,
  amx_bf16 = 1u << 7,
  // 64-bit ARM
  asimd = 1u << 8,
  fphp = 1u << 9,
  asimdhp = 1u << 10,
  asimddp = 1u << 11,
  sve = 1u << 12,
  sve2 = 1u << 13,
  i8mm = 1u << 14,
  bf16 = 1u << 15,
  sme = 1u << 16,
};

// A set of features.
struct CpuFeatures {
  std::uint32_t bits = 0;

  constexpr CpuFeatures() = default;
  constexpr CpuFeatures(std::initializer_list<CpuFeature> features) {
    for (const CpuFeature feature : features) bits |= static_cast<std::uint32_t>(feature);
  }

  constexpr bool has(CpuFeature feature) const { return has(CpuFeatures{feature}); }
  constexpr bool has(CpuFeatures all) const { return (bits & all.bits) == all.bits; }
  constexpr bool empty() const { return bits == 0; }
  bool operator==(const CpuFeatures&) const = default;
};
constexpr CpuFeatures operator|(CpuFeatures a, CpuFeatures b) {
  a.bits |= b.bits;
  return a;
}
constexpr CpuFeatures operator&(CpuFeatures a, CpuFeatures b) {
  a.bits &= b.bits;
  return a;
}
constexpr CpuFeatures operator-(CpuFeatures a, CpuFeatures b) {
  a.bits &= ~b.bits;
  return a;
}

// Without what needs a feature that is not among them, as avx512_vnni needs avx512.
SN_INTREE CpuFeatures closed(CpuFeatures features) noexcept;

// What a value of the environment variable SOFTNEURO_MAX_ISA leaves: a level or a processor
// (baseline, avx2, avx512, haswell, skylake-x, cascade-lake, ice-lake, alder-lake,
// sapphire-rapids, zen2, zen3, zen4, zen5), features with a minus sign, or both, with commas
// between: "zen4", "-avx_vnni", "sapphire-rapids,-amx_int8,-amx_bf16". Nothing for a word that is
// not known.
SN_INTREE CpuFeatures allowed_features(std::string_view mask) noexcept;
// What is wrong with such a value, one sentence; empty: nothing.
SN_INTREE std::string mask_problem(std::string_view mask);
// What the processor and its operating system have.
SN_INTREE CpuFeatures processor_features() noexcept;
// Those of them that SOFTNEURO_MAX_ISA leaves and this process may use; found once per process. The
// first call asks the operating system to let this process use tile registers (amx_*), for good.
SN_INTREE CpuFeatures usable_features() noexcept;
// "avx2 avx_vnni", in the order above.
SN_INTREE std::string to_string(CpuFeatures features);

}  // namespace softneuro
