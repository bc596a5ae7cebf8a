// What code a process has loaded.
#pragma once

#include <cstdint>

#include "softneuro/export.h"

namespace softneuro {

// Digest of the program and the shared libraries that the process has loaded: their build ids, or
// size and time of change of the files of those that have none. Another build of any of them gives
// another digest. 0 where that cannot be told for one of them.
SN_INTREE std::uint64_t loaded_code();

}  // namespace softneuro
