// What shape inference and routines of grid_sample share.
#pragma once

#include <string_view>

namespace softneuro {

enum class GridMode { linear, nearest, cubic };
inline constexpr std::string_view kGridModes[] = {"linear", "nearest", "cubic"};
enum class GridPadding { zeros, border, reflection };
inline constexpr std::string_view kGridPaddings[] = {"zeros", "border", "reflection"};

}  // namespace softneuro
