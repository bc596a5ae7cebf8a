// What shape inference and routines of scatter_elements and scatter_nd share.
#pragma once

#include <string_view>

namespace softneuro {

// How an update meets what is there already.
enum class ScatterReduction { none, add, mul, max, min };
inline constexpr std::string_view kScatterReductions[] = {"none", "add", "mul", "max", "min"};

}  // namespace softneuro
