// Control flow that is no control flow: a condition that is known already.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// Exporters leave conditions on ranks and sizes in the graph, which follow from the shapes of the
// model's inputs.
void import_if(Node& node) {
  const AttributeProto* branches[] = {node.find("else_branch"), node.find("then_branch")};
  if (branches[0] == nullptr || branches[1] == nullptr)
    return node.reject("it does not have two branches");
  const std::optional<double> condition = node.number(node.input(0));
  if (!condition)
    return node.refuse(
        "control flow is not supported: the condition '{}' is not known at import (where it "
        "depends on sizes or on an input that always has the same value, give them: "
        "ImportOptions::shapes and constants, import --shape and --constant)",
        node.tensor(node.input(0)).name);
  node.become(branches[*condition != 0]->g());
}

constexpr Operator kOperators[] = {
    {"If", 1, 1, 1, import_if},
};

}  // namespace

std::span<const Operator> control_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
