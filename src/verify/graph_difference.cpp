#include "verify/graph_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/graph/layer_type.h"
#include "core/routine/format.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// Units in the last place by which a constant that a pass computed may differ between machines, and
// the same of the largest element, where a sum cancels.
constexpr double kComputedUnits = 64, kCancelledUnits = 4;

bool is_rounded_alike(const Tensor& a, const Tensor& b) {
  return !compare_tensors(b, a, 0).broken &&
         unit_difference(b, a, kComputedUnits, kCancelledUnits).count == 0;
}

// Unknown dimensions may be any.
bool may_be_same(const DynamicShape& a, const DynamicShape& b) {
  if (!a.ranked() || !b.ranked()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i].known() && b[i].known() && a[i].value != b[i].value) return false;
  return true;
}

class Pairing {
 public:
  Pairing(const Graph& graph, const Graph& model,
          const std::function<bool(const Tensor&)>& is_computed)
      : graph_(graph),
        model_(model),
        is_computed_(is_computed),
        producers_(graph.producers()),
        model_producers_(model.producers()),
        paired_(graph.tensor_count(), kNoTensor),
        what_(graph.layers().size()) {}

  std::optional<GraphDifference> find() {
    if (graph_.outputs.size() != model_.outputs.size())
      return GraphDifference{"", fmt::format("it has {} outputs instead of {}",
                                             graph_.outputs.size(), model_.outputs.size())};
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o)
      if (std::string what = pair(graph_.outputs[o], model_.outputs[o]); !what.empty())
        return GraphDifference{"", fmt::format("output '{}': {}", name(graph_.outputs[o]), what)};
    while (!open_.empty()) {
      const auto [index, model_index] = open_.back();
      open_.pop_back();
      what_[index] = difference(graph_.layers()[index], model_.layers()[model_index]);
    }
    for (std::size_t i = 0; i < what_.size(); ++i)
      if (!what_[i].empty()) return GraphDifference{graph_.layers()[i].name, what_[i]};
    return std::nullopt;
  }

 private:
  const std::string& name(TensorId id) const { return graph_.tensor(id).name; }

  // Notes that the two mean the same; what speaks against it at first sight.
  std::string pair(TensorId id, TensorId model_id) {
    if (id == kNoTensor || model_id == kNoTensor)
      return id == model_id ? "" : "a tensor is left out on one side";
    if (paired_[id] == model_id) return {};
    if (paired_[id] != kNoTensor) {
      // The model may keep equal constants apart.
      if (!graph_.is_constant(id) || !model_.is_constant(model_id))
        return fmt::format("'{}' stands for two tensors of the model", name(id));
    }
    paired_[id] = model_id;
    const TensorDef &def = graph_.tensor(id), &expected = model_.tensor(model_id);
    if (def.type != expected.type)
      return fmt::format("'{}' is {} instead of {}", def.name, to_string(def.type),
                         to_string(expected.type));
    if (def.is_constant() || expected.is_constant()) return constants(def, expected);
    if (!may_be_same(def.shape, expected.shape))
      return fmt::format("'{}' has the shape {} instead of {}", def.name, def.shape.str(),
                         expected.shape.str());
    const std::int32_t maker = producers_[id], model_maker = model_producers_[model_id];
    if (maker < 0 || model_maker < 0) return inputs(id, model_id);
    const Layer& layer = graph_.layers()[static_cast<std::size_t>(maker)];
    const Layer& other = model_.layers()[static_cast<std::size_t>(model_maker)];
    const auto place = std::ranges::find(layer.outputs, id) - layer.outputs.begin();
    if (place != std::ranges::find(other.outputs, model_id) - other.outputs.begin())
      return fmt::format("'{}' is another output of its layer", def.name);
    open_.emplace_back(static_cast<std::size_t>(maker), static_cast<std::size_t>(model_maker));
    return {};
  }

  std::string inputs(TensorId id, TensorId model_id) const {
    const auto place = std::ranges::find(graph_.inputs, id) - graph_.inputs.begin();
    const auto model_place = std::ranges::find(model_.inputs, model_id) - model_.inputs.begin();
    if (producers_[id] < 0 && model_producers_[model_id] < 0 && place == model_place) return {};
    return fmt::format("'{}' stands where the model has '{}'", name(id),
                       model_.tensor(model_id).name);
  }

  std::string constants(const TensorDef& def, const TensorDef& expected) const {
    if (!def.is_constant() || !expected.is_constant())
      return fmt::format("'{}' is constant on one side alone", def.name);
    const Tensor &a = def.constant, &b = expected.constant;
    if (!(a.shape() == b.shape()))
      return fmt::format("the constant '{}' has the shape {} instead of {}", def.name,
                         a.shape().str(), b.shape().str());
    if (def.left_out || a.bytes() == 0 || std::memcmp(a.data(), b.data(), b.bytes()) == 0)
      return {};
    if (is_float(b.data_type()) && is_computed_(b) && is_rounded_alike(a, b)) return {};
    return fmt::format("the constant '{}' has other values", def.name);
  }

  std::string difference(const Layer& layer, const Layer& other) {
    if (layer.type->name != other.type->name)
      return fmt::format("it is of type {} instead of {}", layer.type->name, other.type->name);
    if (!(layer.params == other.params))
      return fmt::format("its parameters are {} instead of {}", layer.params.str(),
                         other.params.str());
    if (layer.post_ops != other.post_ops) return "it has other post-ops";
    if (layer.layer_inputs != other.layer_inputs || layer.inputs.size() != other.inputs.size())
      return "it has another number of inputs";
    if (layer.outputs.size() != other.outputs.size()) return "it has another number of outputs";
    if (layer.subgraphs.size() != other.subgraphs.size()) return "it has other subgraphs";
    for (std::size_t i = 0; i < layer.subgraphs.size(); ++i)
      if (const auto inner =
              graph_difference(*layer.subgraphs[i], *other.subgraphs[i], is_computed_))
        return fmt::format("in a subgraph, layer '{}': {}", inner->layer, inner->what);
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      if (std::string what = pair(layer.inputs[i], other.inputs[i]); !what.empty()) return what;
    return {};
  }

  const Graph& graph_;
  const Graph& model_;
  const std::function<bool(const Tensor&)>& is_computed_;
  const std::vector<std::int32_t> producers_, model_producers_;
  std::vector<TensorId> paired_;                           // by tensor of graph_: the model's
  std::vector<std::string> what_;                          // by layer of graph_
  std::vector<std::pair<std::size_t, std::size_t>> open_;  // layers to compare
};

}  // namespace

std::optional<GraphDifference> graph_difference(
    const Graph& graph, const Graph& model, const std::function<bool(const Tensor&)>& is_computed) {
  return Pairing(graph, model, is_computed).find();
}

}  // namespace softneuro
