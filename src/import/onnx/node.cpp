#include "import/onnx/node.h"

#include <algorithm>
#include <cctype>

#include "import/onnx/graph_importer.h"

namespace softneuro::onnx {

Node::Node(GraphImporter& importer, const FoundNode& found, const Operator& op)
    : LayerEmitter(importer.builder(), found.node),
      Attributes(found.proto, found.scope, importer.reader(), *this),
      importer_(importer),
      found_(found),
      operator_(op) {}

void Node::become(const GraphProto& branch) {
  if (!failed()) fail(importer_.import_branch(branch, found_));
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

LayerParams row_params(Node& node, LayerParams params) {
  for (const AttributeRow& row : node.op().attributes.rows) {
    if (row.name.empty()) break;
    const std::string_view param = row.param.empty() ? row.name : row.param;
    if (const auto* real = std::get_if<double>(&row.fallback))
      params.set(param, node.real(row.name, *real));
    else if (const auto* integer = std::get_if<std::int64_t>(&row.fallback))
      params.set(param, node.integer(row.name, *integer));
    else if (std::get<LeftOut>(row.fallback) == LeftOut::error || node.has(row.name))
      params.set(param, node.required_integer(row.name));
  }
  return params;
}

void finish_op(Node& node, std::string_view type, std::vector<TensorId> inputs) {
  node.finish(type, std::move(inputs), row_params(node, {{"op", std::string(node.detail())}}));
}

void import_layer(Node& node) {
  node.finish(node.detail(), node.inputs(), row_params(node));
}

}  // namespace softneuro::onnx
