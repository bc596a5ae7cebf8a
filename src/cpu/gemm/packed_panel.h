#pragma once

#include <cstdint>

namespace softneuro {

// Columns of B that are packed together for HalfTileOps and SplitTileOps.
inline constexpr std::int64_t kPackedPanel = 16;

}  // namespace softneuro
