// Registering routines that are nothing but a function that makes their kernel.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>

#include "core/routine/registry.h"

namespace softneuro {

// The kernel for a problem, or why there is none.
using MakeKernel = Result<std::unique_ptr<Kernel>> (*)(const Problem& problem);

// Registers cpu/naive of each of `layer_types`. It applies to every problem, in float32 and the
// plain layout, has no parameters, packs nothing and leaves post-ops to the registry.
Status add_naive(Registry& registry, std::initializer_list<const char*> layer_types,
                 MakeKernel make);
// The same for a kernel that is made of the problem, or of nothing.
template <class K>
Status add_naive(Registry& registry, std::initializer_list<const char*> layer_types) {
  return add_naive(registry, layer_types,
                   []([[maybe_unused]] const Problem& problem) -> Result<std::unique_ptr<Kernel>> {
                     if constexpr (std::is_constructible_v<K, const Problem&>)
                       return make_kernel<K>(problem);
                     else
                       return make_kernel<K>();
                   });
}

}  // namespace softneuro
