// What this processor can do, as far as routines are allowed to use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "softneuro/export.h"

namespace softneuro {

// Instruction-set levels for which kernels are compiled; each includes those before it.
enum class Isa : int { baseline = 0, avx2 = 1 /* + FMA, F16C */, avx512 = 2 /* F, BW, DQ, VL */ };

// What routines, ours and those of libraries, choose by; a bit each.
enum class CpuFeature : std::uint32_t {
  avx2 = 1u << 0,    // the level
  avx512 = 1u << 1,  // the level
  avx_vnni = 1u << 2,
  avx512_vnni = 1u << 3,
  avx512_bf16 = 1u << 4,
  avx512_fp16 = 1u << 5,
  amx_int8 = 1u << 6,
  amx_bf16 = 1u << 7,
};

// A set of features.
struct CpuFeatures {
  std::uint32_t bits = 0;

  constexpr bool has(CpuFeature feature) const {
    return (bits & static_cast<std::uint32_t>(feature)) != 0;
  }
  constexpr bool has(CpuFeatures all) const { return (bits & all.bits) == all.bits; }
  bool operator==(const CpuFeatures&) const = default;
};
constexpr CpuFeatures operator|(CpuFeatures a, CpuFeature b) {
  return {a.bits | static_cast<std::uint32_t>(b)};
}
constexpr CpuFeatures operator|(CpuFeature a, CpuFeature b) {
  return CpuFeatures{} | a | b;
}
constexpr CpuFeatures operator&(CpuFeatures a, CpuFeatures b) {
  return {a.bits & b.bits};
}
constexpr CpuFeatures operator-(CpuFeatures a, CpuFeatures b) {
  return {a.bits & ~b.bits};
}

// Without what needs a level that is not among them.
constexpr CpuFeatures closed(CpuFeatures features) {
  if (!features.has(CpuFeature::avx2)) return {};
  return features.has(CpuFeature::avx512) ? features
                                          : features & (CpuFeature::avx2 | CpuFeature::avx_vnni);
}

// What a value of the environment variable SOFTNEURO_MAX_ISA leaves: a level or a processor
// (baseline, avx2, avx512, haswell, skylake-x, cascade-lake, ice-lake, alder-lake,
// sapphire-rapids, zen2, zen3, zen4, zen5), features with a minus sign, or both, with commas
// between: "zen4", "-avx_vnni", "sapphire-rapids,-amx_int8,-amx_bf16". Nothing for a word that is
// not known.
SN_INTREE CpuFeatures allowed_features(std::string_view mask) noexcept;
// What the processor and its operating system have.
SN_INTREE CpuFeatures processor_features() noexcept;
// Those of them that SOFTNEURO_MAX_ISA leaves; read once per process.
SN_INTREE CpuFeatures usable_features() noexcept;
// "avx2 avx_vnni", named as in /proc/cpuinfo.
SN_INTREE std::string to_string(CpuFeatures features);

// The highest level among the usable features.
SN_INTREE Isa current_isa() noexcept;
// Whether files for avx512vnni may be used.
SN_INTREE bool has_avx512_vnni() noexcept;
// The same for avx512fp16: arithmetic on float16.
SN_INTREE bool has_avx512_fp16() noexcept;
// The same for amxbf16: products of tiles of bfloat16, and conversions to it. The first call asks
// the operating system to let this process use the tile registers, for good.
SN_INTREE bool has_amx_bf16() noexcept;
SN_INTREE const char* to_string(Isa isa) noexcept;

}  // namespace softneuro
