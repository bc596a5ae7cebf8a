// The kernel behind max_pool and avg_pool cpu/direct, in any layout and data type.
#pragma once

#include "core/post_ops.h"
#include "core/qint8_rows.h"
#include "core/registry.h"
#include "routines/max_pool2/pool_rows.h"

namespace softneuro {

enum class PoolKind : std::uint8_t { max, mean };

// Registers cpu/direct of a pool in all schemas in which it exists.
Status register_direct_pool(Registry& registry, const char* layer_type, PoolKind kind);

}  // namespace softneuro
