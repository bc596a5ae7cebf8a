// The kernel behind max_pool and avg_pool cpu/direct, in any layout and data type.
#pragma once

#include "core/routine/registry.h"
#include "routines/max_pool2/pool_rows.h"

namespace softneuro {

enum class PoolKind : std::uint8_t { max, mean };

// Whether the kernel exists for the problem's data types and post-ops.
Applicability check_pool(const Problem& problem, PoolKind kind);
// The kernel that pools input 0 by `window` into output 0, post-ops included (of float32 and
// qint8). Output 0 may be plain where input 0 is nhwc and one position is left.
Result<std::unique_ptr<Kernel>> make_pool(const Problem& problem, PoolKind kind,
                                          const Window& window);

// Registers cpu/direct of pools in all schemas in which it exists.
Status register_direct_pools(Registry& registry, std::initializer_list<const char*> layer_types,
                             PoolKind kind);

}  // namespace softneuro
