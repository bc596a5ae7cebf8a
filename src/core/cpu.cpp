#include "core/cpu.h"

#include <cstdlib>
#include <string_view>

namespace softneuro {
namespace {

Isa detect() noexcept {
  Isa isa = Isa::baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtins check the operating system's support (XGETBV) as well.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
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

}  // namespace

Isa current_isa() noexcept {
  static const Isa isa = detect();
  return isa;
}

bool has_avx512_vnni() noexcept {
#if defined(__x86_64__)
  static const bool has = current_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni") != 0;
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
