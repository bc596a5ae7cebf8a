#pragma once

#include <cstdint>

namespace softneuro {

// Columns of B that are packed together, for all tiles of products with float sums.
inline constexpr std::int64_t kTilePanel = 16;

}  // namespace softneuro
