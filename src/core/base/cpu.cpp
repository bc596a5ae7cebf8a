#include "core/base/cpu.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
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
// (Their registers are those of avx2 or avx512, which the operating system saves, but for the
// tiles': see may_use_tiles.)
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
    found = found | CpuFeatures{CpuFeature::avx2};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found = found | CpuFeatures{CpuFeature::avx512};
  for (const Leaf7Bits& row : kLeaf7Bits) {
    unsigned reg[4] = {};
    // A subleaf that the processor lacks is all zero.
    if (__get_cpuid_count(7, row.subleaf, &reg[0], &reg[1], &reg[2], &reg[3]) != 0 &&
        (reg[row.reg] & row.bits) == row.bits)
      found = found | CpuFeatures{row.feature};
  }
  return closed(found);
}

// The tiles' state is large: Linux saves it for those processes only that have asked.
bool may_use_tiles() noexcept {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

#else

#if defined(__aarch64__) && defined(__linux__)

// Bits of the words that the operating system hands to each process.
struct HwcapBit {
  unsigned long word, bit;
  CpuFeature feature;
};
constexpr HwcapBit kHwcapBits[] = {
    {AT_HWCAP, 1, CpuFeature::asimd},    {AT_HWCAP, 9, CpuFeature::fphp},
    {AT_HWCAP, 10, CpuFeature::asimdhp}, {AT_HWCAP, 20, CpuFeature::asimddp},
    {AT_HWCAP, 22, CpuFeature::sve},     {AT_HWCAP2, 1, CpuFeature::sve2},
    {AT_HWCAP2, 13, CpuFeature::i8mm},   {AT_HWCAP2, 14, CpuFeature::bf16},
    {AT_HWCAP2, 23, CpuFeature::sme},
};

CpuFeatures detect() noexcept {
  CpuFeatures found;
  for (const HwcapBit& row : kHwcapBits)
    if ((getauxval(row.word) >> row.bit & 1) != 0) found = found | CpuFeatures{row.feature};
  return closed(found);
}

#else

CpuFeatures detect() noexcept {
  return {};
}

#endif

bool may_use_tiles() noexcept {
  return false;
}

#endif

}  // namespace

CpuFeatures processor_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

CpuFeatures usable_features() noexcept {
  static const CpuFeatures features = [] {
    constexpr CpuFeatures kTiles = {CpuFeature::amx_int8, CpuFeature::amx_bf16};
    const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
    const CpuFeatures allowed =
        mask == nullptr ? processor_features() : processor_features() & allowed_features(mask);
    const bool has_tiles = !(allowed & kTiles).empty();
    return has_tiles && !may_use_tiles() ? allowed - kTiles : allowed;
  }();
  return features;
}

}  // namespace softneuro
