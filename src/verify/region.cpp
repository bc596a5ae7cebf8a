#include "verify/region.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/routine/evaluate.h"
#include "core/routine/layer_cost.h"
#include "verify/arithmetic.h"
#include "verify/float_type.h"
#include "verify/layer_run.h"

namespace softneuro {
namespace {

// Passes make one layer of a few; a larger region is one whose inputs are hidden.
constexpr std::size_t kMostLayers = 64;
// Steps of one layer by cpu/naive, in float64: about a second.
constexpr double kMostNaiveSteps = 5e7;

// Casts and the like round to a type that they name.
Layer without_rounding(const Layer& layer, DataType finer) {
  Layer copy = layer;
  if (copy.type->rounds_to_type && is_float(parse_data_type(copy.params.text("to"))))
    copy.params.set("to", std::string(to_string(finer)));
  return copy;
}

Result<std::vector<Tensor>> run_in(Runtime& runtime, const Graph& graph, const Layer& layer,
                                   std::vector<Tensor> inputs, DataType finer) {
  if (finer == DataType::float32) {
    SN_ASSIGN_OR_RETURN(LayerRun run, run_layer(runtime, graph, layer, std::move(inputs)));
    return std::move(run.outputs);
  }
  return evaluate_with(runtime.registry(), "cpu/naive", layer, inputs);
}

double steps_of(const Layer& layer, std::span<const Tensor> inputs) {
  const Result<Problem> problem = make_problem(layer, inputs);
  return problem.ok() ? layer_steps(*problem) : INFINITY;
}

}  // namespace

std::optional<Region> find_region(const Graph& graph, std::span<const std::int32_t> producers,
                                  TensorId output, std::span<const TensorId> from) {
  Region region;
  std::vector<TensorId> open = {output};
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (id == kNoTensor || graph.is_constant(id)) continue;
    if (id != output && std::ranges::find(from, id) != from.end()) continue;
    if (producers[id] < 0) {
      if (std::ranges::find(from, id) != from.end()) continue;
      return std::nullopt;
    }
    const auto index = static_cast<std::size_t>(producers[id]);
    if (std::ranges::find(region.layers, index) != region.layers.end()) continue;
    if (region.layers.size() == kMostLayers) return std::nullopt;
    region.layers.push_back(index);
    const Layer& layer = graph.layers()[index];
    region.is_settled = region.is_settled && is_settled(layer);
    region.may_jump = region.may_jump || may_jump(layer, graph);
    region.rounds_to_levels = region.rounds_to_levels || rounds_to_levels(layer);
    open.insert(open.end(), layer.inputs.begin(), layer.inputs.end());
  }
  std::sort(region.layers.begin(), region.layers.end());
  return region;
}

std::optional<Tensor> run_finer(Runtime& runtime, const Graph& graph, const Region& region,
                                TensorId output, const std::function<Tensor(TensorId)>& value_of) {
  const DataType finer =
      is_of_16_bits(graph.tensor(output).type) ? DataType::float32 : DataType::float64;
  std::unordered_map<TensorId, Tensor> made;
  for (const std::size_t index : region.layers) {
    const Layer layer = without_rounding(graph.layers()[index], finer);
    std::vector<Tensor> inputs;
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor) {
        inputs.emplace_back();
        continue;
      }
      const auto found = made.find(id);
      auto value =
          found != made.end()
              ? Result<Tensor>(found->second)
              : in_float_type(graph.is_constant(id) ? graph.tensor(id).constant : value_of(id),
                              finer, runtime.allocator());
      if (!value.ok() || value->empty()) return std::nullopt;
      inputs.push_back(*std::move(value));
    }
    if (finer == DataType::float64 && !(steps_of(layer, inputs) <= kMostNaiveSteps))
      return std::nullopt;
    auto outputs = run_in(runtime, graph, layer, std::move(inputs), finer);
    if (!outputs.ok()) return std::nullopt;
    for (std::size_t o = 0; o < outputs->size(); ++o)
      if (layer.outputs[o] != kNoTensor) made[layer.outputs[o]] = (*outputs)[o];
  }
  const auto found = made.find(output);
  return found == made.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace softneuro
