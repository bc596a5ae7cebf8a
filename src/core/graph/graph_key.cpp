#include "core/graph/graph_key.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/quantization_digest.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

// Type, shape and the borders of the bytes: constants can be hundreds of megabytes.
std::string describe(const Tensor& constant) {
  constexpr std::size_t kBorder = 4096;
  const auto* const bytes = static_cast<const std::byte*>(constant.data());
  const std::size_t head = std::min(constant.bytes(), kBorder);
  return fmt::format("{}[{}]{:x}.{:x}", to_string(constant.data_type()), constant.shape().str(),
                     checksum(bytes, head), checksum(bytes + constant.bytes() - head, head));
}

}  // namespace

std::uint64_t graph_key(const Graph& graph) {
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
    if (def.is_constant()) text += ' ' + describe(def.constant);
    text += '\n';
  }
  for (const TensorId id : graph.inputs) text += fmt::format("I{} ", id);
  for (const TensorId id : graph.outputs) text += fmt::format("O{} ", id);
  return checksum(text.data(), text.size());
}

}  // namespace softneuro
