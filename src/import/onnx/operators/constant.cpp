// Constants, and tensors made from nothing but a few numbers.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

Result<Tensor> constant_value(Node& node) {
  const auto count = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
  if (node.has("value")) return node.tensor_attribute("value");
  if (node.has("value_float"))
    return Tensor::from({static_cast<float>(node.real("value_float", 0))}, {});
  if (node.has("value_int")) return Tensor::from({node.integer("value_int", 0)}, {});
  if (node.has("value_floats")) {
    const std::vector<double> values = node.reals("value_floats");
    return Tensor::from(std::vector<float>(values.begin(), values.end()), {count(values)});
  }
  if (node.has("value_ints")) {
    const std::vector<std::int64_t> values = node.integers("value_ints");
    return Tensor::from(values, {count(values)});
  }
  if (const AttributeProto* sparse = node.find("sparse_value"); sparse != nullptr)
    return node.reader().read(sparse->sparse_tensor());
  if (node.has("value_string") || node.has("value_strings"))
    return unsupported("string tensors are not supported");
  return invalid_model("it has no value");
}

// The narrow type of the tensor in an attribute; nothing where there is none.
std::optional<NarrowType> narrow_type_of(const AttributeProto* attribute) {
  if (attribute == nullptr) return std::nullopt;
  return narrow_type(attribute->has_t() ? attribute->t().data_type()
                                        : attribute->sparse_tensor().values().data_type());
}

void import_constant(Node& node) {
  node.define_constant(0, node.take(constant_value(node)));
  const AttributeProto* const dense = node.find("value");
  if (const auto narrow = narrow_type_of(dense != nullptr ? dense : node.find("sparse_value")))
    node.set_narrow_output(*narrow);
}

void import_constant_of_shape(Node& node) {
  TensorId value = kNoTensor;
  if (node.has("value")) {
    const Tensor given = node.tensor_attribute("value");
    if (node.failed()) return;
    if (given.elements() != 1)
      return node.reject("its value has {} elements, but must have one", given.elements());
    value = node.constant(given, "value");
  } else {
    value = number_constant(node, 0, DataType::float32);
  }
  node.finish("fill", {node.input(0), value});
  if (const auto narrow = narrow_type_of(node.find("value"))) node.set_narrow_output(*narrow);
}

void import_eye_like(Node& node) {
  LayerParams params{{"k", node.integer("k", 0)}};
  if (node.has("dtype")) params.set("to", to_string(node.data_type("dtype", 0)));
  node.finish("eye_like", {node.input(0)}, params);
}

// Real numbers saturate, as in casts to 8 bits; of integers the lowest bits count.
void cast_to(Node& node, const NarrowType& type) {
  const TensorId x = node.input(0);
  const TensorId wide = cast(node, x, type.type);
  const auto number = [&](int value) { return number_constant(node, value, type.type); };
  if (is_float(node.type(x))) {
    node.finish("unary", {wide},
                {{"op", "clip"},
                 {"alpha", static_cast<double>(type.lowest())},
                 {"beta", static_cast<double>(type.highest())}});
  } else if (type.is_signed()) {
    const TensorId bits = binary(node, "bitwise_and", wide, number((1 << type.bits) - 1));
    const TensorId flipped = binary(node, "bitwise_xor", bits, number(-type.lowest()));
    node.finish("binary", {flipped, number(-type.lowest())}, {{"op", "sub"}});
  } else {
    node.finish("binary", {wide, number(type.highest())}, {{"op", "bitwise_and"}});
  }
  node.set_narrow_output(type);
}

void import_cast(Node& node) {
  if (!node.has("to")) return node.reject("the attribute 'to' is missing");
  // The oldest exporters wrote the type's name.
  if (const AttributeProto* to = node.find("to"); to->type() == 3) {
    std::string name = lower_case(to->s());
    if (name == "float") name = "float32";
    if (name == "double") name = "float64";
    if (name == "bool") name = "boolean";
    if (parse_data_type(name) == DataType::undefined)
      return node.refuse("tensors of {} are not supported", to->s());
    return node.finish("cast", {node.input(0)}, {{"to", name}});
  }
  if (const auto narrow = narrow_type(node.integer("to", 0))) return cast_to(node, *narrow);
  const DataType type = node.data_type("to", 0);
  if (!node.failed()) node.finish("cast", {node.input(0)}, {{"to", to_string(type)}});
}

void import_cast_like(Node& node) {
  if (const auto narrow = node.narrow(node.input(1))) return cast_to(node, *narrow);
  const DataType type = node.type(node.input(1));
  if (type == DataType::undefined) return node.refuse("the type of its second input is not known");
  node.finish("cast", {node.input(0)}, {{"to", to_string(type)}});
}

// Window functions: Σ c_k · cos(2πkn / N) with N = size, or size − 1 if symmetric.
void import_window(Node& node) {
  const bool periodic = node.integer("periodic", 1) != 0;
  const DataType type = node.data_type("output_datatype", 1);
  std::vector<double> terms;
  if (node.detail() == "hann") terms = {0.5, -0.5};
  if (node.detail() == "hamming") terms = {25.0 / 46, -21.0 / 46};
  if (node.detail() == "blackman") terms = {0.42, -0.5, 0.08};
  const DataType real = DataType::float64;
  const TensorId size = cast(node, node.input(0), real);
  const TensorId n =
      node.emit("range", {number_constant(node, 0, real), size, number_constant(node, 1, real)});
  const TensorId length =
      periodic ? size : binary(node, "sub", size, number_constant(node, 1, real));
  const TensorId turn =
      binary(node, "div", unary(node, "linear", n, 2 * 3.14159265358979323846), length);
  TensorId sum = kNoTensor;
  for (std::size_t k = 1; k < terms.size(); ++k) {
    const TensorId wave = unary(node, "cos", unary(node, "linear", turn, static_cast<double>(k)));
    const TensorId term = unary(node, "linear", wave, terms[k], k == 1 ? terms[0] : 0);
    sum = sum == kNoTensor ? term : binary(node, "add", sum, term);
  }
  node.finish("cast", {sum}, {{"to", to_string(type)}});
}

constexpr Operator kOperators[] = {
    {"BlackmanWindow", 17, 1, 1, import_window, "blackman"},
    {"Cast", 6, 1, 1, import_cast},
    {"CastLike", 15, 2, 2, import_cast_like},
    {"Constant", 1, 0, 0, import_constant},
    {"ConstantOfShape", 9, 1, 1, import_constant_of_shape},
    {"EyeLike", 9, 1, 1, import_eye_like},
    {"HammingWindow", 17, 1, 1, import_window, "hamming"},
    {"HannWindow", 17, 1, 1, import_window, "hann"},
    {"Range", 11, 3, 3, import_layer, "range"},
};

}  // namespace

std::span<const Operator> constant_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
