// Node: one node of an ONNX model while its handler turns it into layers.
#pragma once

#include <string>
#include <string_view>

#include "import/build/layer_emitter.h"
#include "import/onnx/attributes.h"
#include "import/onnx/operators.h"

namespace softneuro::onnx {

class GraphImporter;
using build::axes_between;
using build::LayerParams;
using build::NarrowType;

// A node as the walk over the model finds it.
struct FoundNode {
  const NodeProto& proto;
  Scope& scope;
  build::ModelNode node;
};

class Node : public build::LayerEmitter, public Attributes {
 public:
  Node(GraphImporter& importer, const FoundNode& found, const Operator& op);

  const Operator& op() const { return operator_; }
  std::string_view detail() const { return operator_.detail; }
  std::int64_t opset() const { return node().opset.value_or(0); }
  // The node becomes what this branch of it holds.
  void become(const GraphProto& branch);

 private:
  GraphImporter& importer_;
  const FoundNode& found_;
  const Operator& operator_;
};

std::string lower_case(std::string text);  // of ASCII letters

// `params`, and those that the operator's row of the table names.
LayerParams row_params(Node& node, LayerParams params = {});
// Ends a handler with a layer that has these parameters, and op = `detail`.
void finish_op(Node& node, std::string_view type, std::vector<TensorId> inputs);
// The handler of operators that are a layer of the type `detail` with the same inputs.
void import_layer(Node& node);

}  // namespace softneuro::onnx
