// Values of inner tensors of a graph, as runs with default choices give them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/runtime.h"

namespace softneuro {

// Runs `graph` (verified, sorted) with default choices on `inputs`, which are in the order of the
// graph's inputs, and hands the tensors `wanted` to `see` in their order, plain and in the model's
// data types; each is valid during the call only. Runs several times, for some of the tensors at a
// time, where all together are large.
Status read_inner_values(const std::shared_ptr<Runtime>& core,
                         const std::shared_ptr<const Graph>& graph, std::span<const Shape> shapes,
                         std::span<const Tensor> inputs, std::span<const TensorId> wanted,
                         const std::function<Status(TensorId, const Tensor&)>& see);

}  // namespace softneuro
