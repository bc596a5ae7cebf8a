#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// The type that `output_dtype` names; undefined if it is left out.
DataType output_type(Node& node) {
  return node.integer("output_dtype", 0) == 0 ? DataType::undefined
                                              : node.data_type("output_dtype", 0);
}

void import_quantize(Node& node) {
  LayerParams params = row_params(node);
  const std::vector<TensorId> inputs{node.input(0), node.input(1), node.input(2)};
  const auto narrow =
      node.has_input(2) ? node.narrow(node.input(2)) : narrow_type(node.integer("output_dtype", 0));
  DataType type = DataType::undefined;
  if (node.has_input(2))
    type = node.type(node.input(2));
  else
    type = narrow ? narrow->type : output_type(node);
  params.set("to", to_string(type == DataType::undefined ? DataType::uint8 : type));
  if (!narrow) return node.finish("quantize", inputs, params);
  // What saturates at 8 bits and then at fewer saturates at fewer.
  node.finish("unary", {node.emit("quantize", inputs, params)},
              {{"op", "clip"},
               {"alpha", static_cast<double>(narrow->lowest())},
               {"beta", static_cast<double>(narrow->highest())}});
  node.set_narrow_output(*narrow);
}

void import_dequantize(Node& node) {
  const DataType wanted = output_type(node);
  const LayerParams params = row_params(node);
  const std::vector<TensorId> inputs{node.input(0), node.input(1), node.input(2)};
  if (wanted == DataType::undefined || wanted == node.type(node.input(1)))
    return node.finish("dequantize", inputs, params);
  node.finish("cast", {node.emit("dequantize", inputs, params)}, {{"to", to_string(wanted)}});
}

constexpr AttributeRows kBlocks = {{"axis", 1}, {"block_size", 0}};

constexpr Operator kOperators[] = {
    {"DequantizeLinear", 10, 2, 3, import_dequantize, {}, kBlocks},
    {"DynamicQuantizeLinear", 11, 1, 1, import_layer, "dynamic_quantize"},
    {"QuantizeLinear", 10, 2, 3, import_quantize, {}, kBlocks},
};

}  // namespace

std::span<const Operator> quantization_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
