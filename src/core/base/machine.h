// The machine that runs this process, as far as measured times and kernels depend on it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/system_text.h"
#include "softneuro/export.h"

namespace softneuro {

// The processor that `cpuinfo`, the text of /proc/cpuinfo, tells of. x86-64: its name, vendor,
// family, model and stepping, "AMD EPYC (AuthenticAMD 25.1.1)". aarch64: implementer, part and
// revision of every kind of core, "aarch64 (0x41-0xd05-r1p0 0x41-0xd0a-r1p0)". The architecture
// alone where the text is of another one.
SN_INTREE std::string describe_processor(std::string_view architecture, std::string_view cpuinfo);

// Sizes of the first processor's data caches, level by level, "32K 512K 32768K"; empty where the
// system does not tell them.
SN_INTREE std::string describe_caches(const TextReader& read);

// Processor, features that routines may use, and caches:
// "AMD EPYC (AuthenticAMD 25.1.1), avx2, 32K 512K 32768K". Two machines of one name run the same
// kernels at about the same speed. Thread safe.
SN_INTREE const std::string& machine_name();

}  // namespace softneuro
