#include "support/graph_compare.h"

#include <fmt/format.h>

#include <cstring>

#include "core/graph/layer_type.h"

namespace softneuro::test {
namespace {

bool same(const DynamicShape& a, const DynamicShape& b) {
  if (a.ranked() != b.ranked() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i].value != b[i].value || a[i].symbol != b[i].symbol) return false;
  return true;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.data_type() == b.data_type() && a.layout() == b.layout() && a.shape() == b.shape() &&
         a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

bool same(const std::optional<Quantization>& a, const std::optional<Quantization>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->is_signed == b->is_signed && a->axis == b->axis && a->scales == b->scales &&
         a->zero_points == b->zero_points && a->channel_means == b->channel_means;
}

std::string difference(const TensorDef& a, const TensorDef& b) {
  if (a.name != b.name) return fmt::format("name {} / {}", a.name, b.name);
  if (a.type != b.type) return fmt::format("type {} / {}", to_string(a.type), to_string(b.type));
  if (!same(a.shape, b.shape)) return fmt::format("shape {} / {}", a.shape.str(), b.shape.str());
  if (!same(a.constant, b.constant)) return "constant";
  if (!same(a.quantization, b.quantization)) return "quantisation";
  return {};
}

std::string difference(const Layer& a, const Layer& b) {
  if (a.name != b.name) return fmt::format("name {} / {}", a.name, b.name);
  if (a.id != b.id) return fmt::format("id {} / {}", a.id, b.id);
  if (a.type->name != b.type->name) return fmt::format("type {} / {}", a.type->name, b.type->name);
  if (a.inputs != b.inputs || a.outputs != b.outputs || a.layer_inputs != b.layer_inputs)
    return "inputs or outputs";
  if (a.params != b.params) return fmt::format("{} / {}", a.params.str(), b.params.str());
  if (a.post_ops != b.post_ops) return "post-ops";
  if (a.sources != b.sources) return "sources";
  if (a.subgraphs.size() != b.subgraphs.size()) return "number of subgraphs";
  for (std::size_t i = 0; i < a.subgraphs.size(); ++i)
    if (std::string text = test::difference(*a.subgraphs[i], *b.subgraphs[i]); !text.empty())
      return fmt::format("subgraph {}: {}", i, text);
  return {};
}

}  // namespace

std::string difference(const Graph& a, const Graph& b) {
  if (a.name != b.name) return fmt::format("name {} / {}", a.name, b.name);
  if (a.inputs != b.inputs) return "inputs";
  if (a.outputs != b.outputs) return "outputs";
  if (a.applied_passes != b.applied_passes) return "applied passes";
  if (a.next_layer_id() != b.next_layer_id()) return "next layer id";
  if (a.tensor_count() != b.tensor_count()) return "number of tensors";
  for (TensorId i = 0; i < a.tensor_count(); ++i)
    if (std::string text = difference(a.tensor(i), b.tensor(i)); !text.empty())
      return fmt::format("tensor {} '{}': {}", i, a.tensor(i).name, text);
  if (a.layers().size() != b.layers().size()) return "number of layers";
  for (std::size_t i = 0; i < a.layers().size(); ++i)
    if (std::string text = difference(a.layers()[i], b.layers()[i]); !text.empty())
      return fmt::format("layer '{}': {}", a.layers()[i].name, text);
  return {};
}

}  // namespace softneuro::test
