// XXH3-64, the checksum of .dnn files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softneuro/export.h"

namespace softneuro {

// Of `bytes` bytes at `data`, followed by `zeros` (< 64) zero bytes that need not exist.
SN_INTREE std::uint64_t checksum(const void* data, std::size_t bytes,
                                 std::size_t zeros = 0) noexcept;

}  // namespace softneuro
