// oneDNN's implementations of one operation, by the names that the routine parameter `impl` takes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/routine/routine.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

// "brgconv:avx512_core" → "brgconv", "x64:gemm:jit" → "gemm": the kind of code, whatever the
// instruction set, so that choices mean something on other machines.
std::string implementation_name(std::string_view info);
// Whether that is the library's slow reference code, which is never offered.
bool is_reference(std::string_view name);

// Names of all implementations of the operation, the best instruction set of each standing for the
// rest, in the library's order of preference; empty if it has none but reference code, which counts
// for those who ask for it. Implementations whose sums of products of bytes are not exact do not
// count at all.
std::vector<std::string> implementation_names(const Operation& operation,
                                              const dnnl::primitive_attr& attributes,
                                              bool with_reference = false);
// The first implementation of that name; none of inexact sums.
std::optional<dnnl::primitive_desc_base> find_implementation(const Operation& operation,
                                                             const dnnl::primitive_attr& attributes,
                                                             std::string_view name,
                                                             bool with_reference = false);
// Whether implementation_names() has one that `is_wanted`; asks for no more than it needs.
bool has_implementation(const Operation& operation, const dnnl::primitive_attr& attributes,
                        const std::function<bool(std::string_view name)>& is_wanted);

// The routine parameter `impl` alone: the first of the names, if there is one, and all of them.
RoutineParams impl_params(const std::vector<std::string>& names);
ParamSpace impl_space(const std::vector<std::string>& names);

}  // namespace softneuro::onednn
