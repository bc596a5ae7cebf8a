// What runs a childnet, and the packed bytes that it keeps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/childnet/childnet.h"

namespace softneuro {

// Several packed weights and folded constants as one: a table of sizes, then the bytes, each
// aligned to kTensorAlignment. Empty tensors stay empty.
Result<PackedWeights> join_segments(std::span<const Tensor> segments, Allocator& allocator);
// Bytes that segments of such sizes take together.
std::size_t joined_bytes(std::span<const std::size_t> sizes) noexcept;
// The bytes (uint8) again, sharing the memory of `packed`. internal if they are malformed.
Result<std::vector<Tensor>> split_segments(const PackedWeights& packed);

// Runs the kernels of outline.layers (null for views) in order. Folded tensors have their values in
// outline.specs. Tensors inside share one workspace by lifetime.
Result<std::unique_ptr<Kernel>> make_childnet_kernel(
    const ChildnetOutline& outline, std::vector<std::shared_ptr<const Kernel>> kernels);

}  // namespace softneuro
