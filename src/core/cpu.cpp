#include "core/cpu.h"

#include <cstdlib>
#include <string_view>

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
// Clang 14's __builtin_cpu_supports does not know this one.
bool has_f16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa detect() noexcept {
  Isa isa = Isa::baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtins check the operating system's support (XGETBV) as well.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    isa = Isa::avx2;
  if (isa == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    isa = Isa::avx512;
#endif
  if (const char* mask = std::getenv("SOFTNEURO_MAX_ISA")) {
    const std::string_view name = mask;
    for (const Isa level : {Isa::baseline, Isa::avx2})
      if (name == to_string(level) && level < isa) return level;
  }
  return isa;
}

#if defined(__x86_64__)

// What comes on top of avx512; not if the mask asks for that level.
bool may_exceed_avx512() noexcept {
  const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
  return current_isa() == Isa::avx512 &&
         (mask == nullptr || std::string_view(mask) != to_string(Isa::avx512));
}

// EDX of the processor's leaf 7: bit 22 AMX-BF16, 23 AVX512-FP16, 24 AMX-TILE.
bool has_features(unsigned bits) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bits) == bits;
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

#endif

}  // namespace

Isa current_isa() noexcept {
  static const Isa isa = detect();
  return isa;
}

bool has_avx512_vnni() noexcept {
#if defined(__x86_64__)
  static const bool has = may_exceed_avx512() && __builtin_cpu_supports("avx512vnni") != 0;
  return has;
#else
  return false;
#endif
}

// (The registers are those of avx512, which the operating system saves.)
bool has_avx512_fp16() noexcept {
#if defined(__x86_64__) && defined(SN_ISA_AVX512FP16)
  static const bool has = may_exceed_avx512() && has_features(1u << 23);
  return has;
#else
  return false;
#endif
}

bool has_amx_bf16() noexcept {
#if defined(__x86_64__) && defined(SN_ISA_AMXBF16)
  static const bool has = may_exceed_avx512() && has_features(1u << 22 | 1u << 24) &&
                          __builtin_cpu_supports("avx512bf16") != 0 && may_use_tiles();
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
