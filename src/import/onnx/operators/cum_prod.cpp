#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_cum_prod(Node& node) {
  node.finish(
      "cum_prod", {node.input(0), node.input(1)},
      {{"exclusive", node.integer("exclusive", 0)}, {"reverse", node.integer("reverse", 0)}});
}

constexpr Operator kOperators[] = {
    {"CumProd", 26, 2, 2, import_cum_prod},
};

}  // namespace

std::span<const Operator> cum_prod_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
