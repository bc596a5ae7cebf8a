// What shape inference and routines of scatter_elements and scatter_nd share, and gather_elements.
#pragma once

#include <string_view>

#include "core/graph/layer_type.h"

namespace softneuro {

// How an update meets what is there already.
enum class ScatterReduction { none, add, mul, max, min };
inline constexpr std::string_view kScatterReductions[] = {"none", "add", "mul", "max", "min"};

// Indices (input 1) of gather_elements and scatter_elements: of x's rank, and not larger than x on
// the axes that are not indexed.
Status check_element_indices(const InferContext& context);

}  // namespace softneuro
