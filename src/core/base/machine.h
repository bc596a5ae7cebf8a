// The machine that runs this process, as far as measured times and kernels depend on it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/system_text.h"
#include "softneuro/export.h"

namespace softneuro {

// The processor that `cpuinfo`, the text of /proc/cpuinfo, tells of. x86-64: its name, vendor,
// family, model and stepping, "AMD EPYC (AuthenticAMD 25.1.1)". aarch64: implementer, part and
// revision of every kind of core among `processors` (their numbers), "aarch64 (0x41-0xd05-r1p0
// 0x41-0xd0a-r1p0)". The architecture alone where the text is of another one.
SN_INTREE std::string describe_processor(std::string_view architecture, std::string_view cpuinfo,
                                         std::span<const int> processors);

// Sizes of that processor's data caches, level by level, "32K 512K 32768K"; empty where the system
// does not tell them.
SN_INTREE std::string describe_caches(int processor, const TextReader& read);

// Processor, features that routines may use, and caches:
// "AMD EPYC (AuthenticAMD 25.1.1), avx2, 32K 512K 32768K". Two machines of one name run the same
// kernels at about the same speed. Of the processors that the calling thread may use when it first
// asks; thread safe.
SN_INTREE const std::string& machine_name();

// The instructions that float kernels are written in on the machine of that name (machine_name(),
// or one that a file brings): "avx512", "avx2", "aarch64", or "baseline" (x86-64 without either,
// and names that are not known). Which routine is faster holds among machines of one kind.
SN_INTREE std::string_view vector_instructions(std::string_view machine_name);

// What distinguishes machines of one name for so many threads: ", 2 cores" where they have to share
// those, else nothing (docs/internals/measuring.md).
SN_INTREE std::string describe_sharing(int threads, int cores);
// machine_name() and describe_sharing() for the cores that this process may use: whose measurements
// and tuned paths serve nets of so many threads.
SN_INTREE std::string machine_name(int threads);

}  // namespace softneuro
