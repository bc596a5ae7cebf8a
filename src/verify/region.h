// The part of a model that a layer of another graph stands for.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/runtime.h"

namespace softneuro {

struct Region {
  std::vector<std::size_t> layers;  // of the model, in its order
  bool is_settled = true;           // is_settled() of all of them
  bool may_jump = false;            // of any
  bool rounds_to_levels = false;    // of any
};

// What makes `output` of tensors in `from`; nothing where it needs others, or many layers.
// `producers` is of the graph.
std::optional<Region> find_region(const Graph& graph, std::span<const std::int32_t> producers,
                                  TensorId output, std::span<const TensorId> from);

// `output` of the region, computed with fewer roundings than the model's types have: float64 for
// float32, float32 for 16 bits. `value_of` gives the model's tensors that it reads; nothing where
// one of them is unknown, a layer has no such routine, or it would take long.
std::optional<Tensor> run_finer(Runtime& runtime, const Graph& graph, const Region& region,
                                TensorId output, const std::function<Tensor(TensorId)>& value_of);

}  // namespace softneuro
