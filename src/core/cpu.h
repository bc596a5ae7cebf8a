// What this processor can do, as far as routines are allowed to use it.
#pragma once

#include <string>

#include "softneuro/export.h"

namespace softneuro {

// Instruction-set levels for which kernels are compiled; each includes those before it.
enum class Isa : int { baseline = 0, avx2 = 1 /* + FMA, F16C */, avx512 = 2 /* F, BW, DQ, VL */ };

// The highest level of this processor, masked by the environment variable SOFTNEURO_MAX_ISA
// (baseline | avx2 | avx512), read once per process. A mask of avx512 also hides what comes on top
// of that level: VNNI, FP16, AMX.
SN_INTREE Isa current_isa() noexcept;
// Whether files for avx512vnni may be used: current_isa() is avx512 and the processor has VNNI.
SN_INTREE bool has_avx512_vnni() noexcept;
// The same for avx512fp16: arithmetic on float16.
SN_INTREE bool has_avx512_fp16() noexcept;
// The same for amxbf16: products of tiles of bfloat16, and conversions to it. The first call asks
// the operating system to let this process use the tile registers, for good.
SN_INTREE bool has_amx_bf16() noexcept;
SN_INTREE const char* to_string(Isa isa) noexcept;

}  // namespace softneuro
