#include "core/base/cpu.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace softneuro {
namespace {

#if defined(__x86_64__)

// Registers and bits of the processor's leaf 7.
struct Leaf7Bits {
  unsigned subleaf;
  unsigned reg;   // eax, ebx, ecx, edx
  unsigned bits;  // all of them
  CpuFeature feature;
};
// (Their registers are those of a level, which the operating system saves, but for the tiles':
// see may_use_tiles.)
constexpr unsigned kAmxTile = 1u << 24;
constexpr Leaf7Bits kLeaf7Bits[] = {
    {1, 0, 1u << 4, CpuFeature::avx_vnni},
    {0, 2, 1u << 11, CpuFeature::avx512_vnni},
    {1, 0, 1u << 5, CpuFeature::avx512_bf16},
    {0, 3, 1u << 23, CpuFeature::avx512_fp16},
    {0, 3, 1u << 25 | kAmxTile, CpuFeature::amx_int8},
    {0, 3, 1u << 22 | kAmxTile, CpuFeature::amx_bf16},
};

// Clang 14's __builtin_cpu_supports does not know this one.
bool has_f16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

CpuFeatures detect() noexcept {
  CpuFeatures found;
  __builtin_cpu_init();
  // The builtins check the operating system's support (XGETBV) as well.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    found = found | CpuFeature::avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found = found | CpuFeature::avx512;
  for (const Leaf7Bits& row : kLeaf7Bits) {
    unsigned reg[4] = {};
    // A subleaf that the processor lacks is all zero.
    if (__get_cpuid_count(7, row.subleaf, &reg[0], &reg[1], &reg[2], &reg[3]) != 0 &&
        (reg[row.reg] & row.bits) == row.bits)
      found = found | row.feature;
  }
  return closed(found);
}

// The tiles' state is large: Linux saves it for those processes only that have asked.
[[maybe_unused]] bool may_use_tiles() noexcept {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

#else

CpuFeatures detect() noexcept {
  return {};
}

#endif

}  // namespace

CpuFeatures processor_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

CpuFeatures usable_features() noexcept {
  static const CpuFeatures features = [] {
    const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
    return mask == nullptr ? processor_features() : processor_features() & allowed_features(mask);
  }();
  return features;
}

Isa current_isa() noexcept {
  const CpuFeatures usable = usable_features();
  if (usable.has(CpuFeature::avx512)) return Isa::avx512;
  return usable.has(CpuFeature::avx2) ? Isa::avx2 : Isa::baseline;
}

bool has_avx512_vnni() noexcept {
  return usable_features().has(CpuFeature::avx512_vnni);
}

bool has_avx512_fp16() noexcept {
#if defined(SN_ISA_AVX512FP16)
  return usable_features().has(CpuFeature::avx512_fp16);
#else
  return false;
#endif
}

bool has_amx_bf16() noexcept {
#if defined(__x86_64__) && defined(SN_ISA_AMXBF16)
  static const bool has =
      usable_features().has(CpuFeature::amx_bf16 | CpuFeature::avx512_bf16) && may_use_tiles();
  return has;
#else
  return false;
#endif
}

const char* to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace softneuro
