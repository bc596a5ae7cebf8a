#include "import/toy_format.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "core/base/element.h"
#include "core/base/error.h"

namespace softneuro::test {
namespace {

using build::LayerEmitter;
using Words = std::vector<std::string>;

constexpr std::string_view kHeader = "toy 1\n";

// --- operators -----------------------------------------------------------------------------------

struct ToyOperator {
  std::string_view name;
  int inputs;
  void (*import)(LayerEmitter& node);
};

constexpr ToyOperator kOperators[] = {
    {"add", 2,
     [](LayerEmitter& node) {
       node.finish("binary", node.inputs(), {{"op", "add"}});
     }},
    {"matmul", 2, [](LayerEmitter& node) { node.finish("matmul", node.inputs()); }},
    {"relu", 1,
     [](LayerEmitter& node) {
       node.finish("unary", node.inputs(), {{"op", "relu"}});
     }},
    {"sqrt", 1,
     [](LayerEmitter& node) {
       const TensorId real = cast(node, node.input(0), DataType::float32);
       node.finish("cast", {unary(node, "sqrt", real)},
                   {{"to", to_string(node.type(node.input(0)))}});
     }},
    // The axis is counted from the last one.
    {"mean_over", 2,
     [](LayerEmitter& node) {
       const std::optional<double> axis = node.number(node.input(1));
       if (!axis) return node.refuse("its axis is not known");
       const std::int64_t place =
           node.need_rank(node.input(0)) - 1 - static_cast<std::int64_t>(*axis);
       node.finish("reduce", {node.input(0), integers_constant(node, {place})},
                   {{"op", "mean"}, {"keepdims", 0}});
     }},
};

// --- reading -------------------------------------------------------------------------------------

// "float32" and "N,3".
Result<TensorDef> declared(const std::string& type, const std::string& dims) {
  TensorDef def;
  def.type = parse_data_type(type);
  if (def.type == DataType::undefined) return unsupported("tensors of {} are not supported", type);
  std::vector<Dim> known;
  std::istringstream in(dims);
  for (std::string dim; std::getline(in, dim, ',');) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), size);
    known.push_back(error == std::errc() && end == dim.data() + dim.size() ? Dim(size) : Dim(dim));
  }
  if (!Shape::fits(known.size())) return unsupported("it has {} dimensions", known.size());
  def.shape = DynamicShape(std::move(known));
  return def;
}

Result<Tensor> constant_of(const Words& line, Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(const TensorDef def, declared(line[2], line[3]));
  if (!def.shape.is_static()) return invalid_model("its size is not known");
  SN_ASSIGN_OR_RETURN(Tensor value, Tensor::create(def.type, def.shape.to_shape(), allocator));
  if (static_cast<std::int64_t>(line.size()) - 4 != value.elements())
    return invalid_model("it has {} values, expected {}", line.size() - 4, value.elements());
  for (std::int64_t i = 0; i < value.elements(); ++i)
    store(view_of(value), i, std::strtod(line[static_cast<std::size_t>(i) + 4].c_str(), nullptr));
  return value;
}

Status import_node(build::ModelBuilder& model, build::ValueScope& scope, const Words& line) {
  build::ModelNode node{
      scope, line[1], line[0], "", std::nullopt, {line.begin() + 2, line.end()}, {line[1]}};
  SN_ASSIGN_OR_RETURN(const bool usable, model.begin(node));
  if (!usable) return {};
  LayerEmitter emitter(model.builder(), node);
  const auto* op = std::ranges::find(kOperators, node.op, &ToyOperator::name);
  if (op == std::end(kOperators)) {
    emitter.refuse("there is no such operator");
  } else {
    emitter.expect_inputs(op->inputs, op->inputs);
    if (!emitter.failed()) op->import(emitter);
  }
  model.end(emitter);
  return {};
}

Status import_toy(build::ModelBuilder& model) {
  const auto bytes = model.source().bytes.subspan(kHeader.size());
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  build::ValueScope scope;
  std::vector<build::ModelInput> inputs;
  std::vector<Words> nodes;
  std::vector<std::string> outputs;
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    const Words line{std::istream_iterator<std::string>(words), {}};
    const std::string kind = line.empty() ? "" : line[0];
    const std::size_t least = kind == "constant" || kind == "input" ? 4 : 2;
    if (line.size() < least) return invalid_model("the line '{}' is too short", text);
    if (kind == "constant") {
      SN_ASSIGN_OR_RETURN(const Tensor value, constant_of(line, model.source().allocator));
      model.builder().add_value(scope, line[1], value);
    } else if (kind == "input") {
      inputs.push_back({line[1], declared(line[2], line[3])});
    } else if (kind == "output") {
      outputs.push_back(line[1]);
    } else {
      nodes.push_back(line);
    }
  }
  SN_RETURN_IF_ERROR(model.add_inputs(scope, inputs));
  for (const Words& line : nodes) SN_RETURN_IF_ERROR(import_node(model, scope, line));
  return model.add_outputs(scope, outputs);
}

bool looks_like_toy(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kHeader.size() &&
         std::memcmp(bytes.data(), kHeader.data(), kHeader.size()) == 0;
}

}  // namespace

build::Format toy_format() {
  return {"toy", looks_like_toy, import_toy};
}

}  // namespace softneuro::test
