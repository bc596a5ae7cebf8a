#include "core/graph/graph_key.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

// Type, shape and bytes; without `whole` the borders alone, as constants can be hundreds of
// megabytes.
std::string describe(const Tensor& constant, bool whole) {
  constexpr std::size_t kBorder = 4096;
  const auto* const bytes = static_cast<const std::byte*>(constant.data());
  if (whole)
    return fmt::format("{}[{}]{:x}", to_string(constant.data_type()), constant.shape().str(),
                       checksum(bytes, constant.bytes()));
  const std::size_t head = std::min(constant.bytes(), kBorder);
  return fmt::format("{}[{}]{:x}.{:x}", to_string(constant.data_type()), constant.shape().str(),
                     checksum(bytes, head), checksum(bytes + constant.bytes() - head, head));
}

std::uint64_t digest_of(const Graph& graph, bool whole) {
  std::string text;
  for (const Layer& layer : graph.layers()) {
    text += fmt::format("L{} {} {}", layer.id, layer.type->name, layer.params.str());
    for (const PostOp& op : layer.post_ops) text += '+' + op.str();
    for (const TensorId id : layer.inputs) text += fmt::format(" {}", id);
    text += " ->";
    for (const TensorId id : layer.outputs) text += fmt::format(" {}", id);
    text += '\n';
  }
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const TensorDef& def = graph.tensor(id);
    text += fmt::format("T{} {} {}", id, to_string(def.type), def.shape.str());
    if (def.quantization) text += ' ' + digest_of(*def.quantization);
    if (def.is_constant()) text += ' ' + describe(def.constant, whole);
    text += '\n';
  }
  for (const TensorId id : graph.inputs) text += fmt::format("I{} ", id);
  for (const TensorId id : graph.outputs) text += fmt::format("O{} ", id);
  return checksum(text.data(), text.size());
}

}  // namespace

std::string digest_of(const Quantization& q) {
  return fmt::format("{}{}:{:x}:{:x}", q.is_signed ? 's' : 'u', q.axis,
                     checksum(q.scales.data(), q.scales.size() * sizeof(float)),
                     checksum(q.zero_points.data(), q.zero_points.size() * sizeof(std::int32_t)));
}

std::uint64_t graph_key(const Graph& graph) {
  return digest_of(graph, false);
}

std::uint64_t content_key(const Graph& graph) {
  return digest_of(graph, true);
}

}  // namespace softneuro
