// What this processor can do, as far as routines are allowed to use it.
#pragma once

#include <string>

#include "softneuro/export.h"

namespace softneuro {

// Instruction-set levels for which kernels are compiled; each includes those before it.
enum class Isa : int { baseline = 0, avx2 = 1 /* + FMA, F16C */, avx512 = 2 /* F, BW, DQ, VL */ };

// The highest level of this processor, masked by the environment variable SOFTNEURO_MAX_ISA
// (baseline | avx2 | avx512), read once per process.
SN_INTREE Isa current_isa() noexcept;
// Whether files for avx512vnni may be used: current_isa() is avx512 and the processor has VNNI.
SN_INTREE bool has_avx512_vnni() noexcept;
SN_INTREE const char* to_string(Isa isa) noexcept;

}  // namespace softneuro
