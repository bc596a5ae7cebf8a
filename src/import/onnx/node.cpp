#include "import/onnx/node.h"

#include <algorithm>
#include <cctype>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "import/onnx/graph_importer.h"

namespace softneuro::onnx {

// --- what is known of a tensor -------------------------------------------------------------------

const TensorDef& TensorFacts::tensor(TensorId id) const {
  static const TensorDef none;
  return id == kNoTensor ? none : builder_.graph().tensor(id);
}

int TensorFacts::rank(TensorId id) const {
  return shape(id).ranked() ? shape(id).rank() : -1;
}

std::int64_t TensorFacts::dim(TensorId id, int axis) const {
  return axis >= 0 && axis < rank(id) ? shape(id)[axis].value : -1;
}

const Tensor* TensorFacts::value(TensorId id) const {
  return id == kNoTensor ? nullptr : builder_.value(id);
}

std::optional<double> TensorFacts::number(TensorId id) const {
  const Tensor* known = value(id);
  if (known == nullptr || known->elements() != 1) return std::nullopt;
  return load(view_of(*known), 0);
}

// --- inputs and outputs --------------------------------------------------------------------------

Node::Node(GraphImporter& importer, const FoundNode& found, const Operator& op)
    : Attributes(found.proto, found.scope, importer.reader()),
      TensorFacts(importer.builder()),
      importer_(importer),
      found_(found),
      operator_(op) {}

std::size_t Node::output_count() const {
  int count = found_.proto.output_size();
  while (count > 0 && found_.proto.output(count - 1).empty()) --count;
  return static_cast<std::size_t>(count);
}

const std::string& Node::output_name(std::size_t i) const {
  return found_.proto.output(static_cast<int>(i));
}

bool Node::wants_output(std::size_t i) const {
  return i < output_count() && !output_name(i).empty();
}

int Node::need_rank(TensorId id) {
  const int known = rank(id);
  if (known < 0)
    fail(unsupported("the rank of '{}' is not known, and this operator needs it", tensor(id).name),
         true);
  return std::max(known, 0);
}

std::int64_t Node::need_dim(TensorId id, int axis) {
  const std::int64_t known = dim(id, axis);
  if (known < 0)
    fail(unsupported("dimension {} of '{}' is not known, and this operator needs it", axis,
                     tensor(id).name),
         true);
  return std::max<std::int64_t>(known, 0);
}

// --- building ------------------------------------------------------------------------------------

TensorId Node::constant(const Tensor& value, std::string_view suffix) {
  if (failed() || value.empty()) return kNoTensor;
  return builder_.add_temporary(fmt::format("{}/{}", found_.name, suffix), value);
}

void Node::add_layer(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params,
                     std::vector<TensorId> outputs, const std::string& name) {
  fail(
      builder_.add_layer(type, name, std::move(inputs), std::move(outputs), params, {found_.name}));
}

TensorId Node::emit(std::string_view type, std::vector<TensorId> inputs,
                    const LayerParams& params) {
  if (failed()) return kNoTensor;
  const std::string name = fmt::format("{}/{}", found_.name, type);
  const TensorId output = builder_.add_temporary(name);
  add_layer(type, std::move(inputs), params, {output}, name);
  return output;
}

void Node::finish(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params) {
  if (failed()) return;
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < output_count(); ++i)
    outputs.push_back(wants_output(i) ? builder_.add_value(found_.scope, output_name(i))
                                      : kNoTensor);
  if (outputs.empty()) return;  // all outputs are unused
  const LayerType* found = builtin_layer_types().find(type);
  if (found != nullptr && found->outputs.max >= 0 &&
      outputs.size() > static_cast<std::size_t>(found->outputs.max))
    return refuse("{} outputs where at most {} are possible", outputs.size(), found->outputs.max);
  // Output 0 always exists, even if it is unused.
  if (outputs[0] == kNoTensor) outputs[0] = builder_.add_temporary(found_.name + "/unused");
  add_layer(type, std::move(inputs), params, std::move(outputs), found_.name);
}

void Node::finish_output(std::size_t i, std::string_view type, std::vector<TensorId> inputs,
                         const LayerParams& params) {
  if (failed() || !wants_output(i)) return;
  const TensorId output = builder_.add_value(found_.scope, output_name(i));
  add_layer(type, std::move(inputs), params, {output},
            i == 0 ? found_.name : fmt::format("{}/output{}", found_.name, i));
}

void Node::define(std::size_t i, TensorId id) {
  if (failed() || !wants_output(i)) return;
  if (is_constant(id))
    found_.scope.values[output_name(i)] = id;
  else
    finish_output(i, "identity", {id});
}

void Node::define_constant(std::size_t i, const Tensor& value) {
  if (failed() || !wants_output(i)) return;
  builder_.add_value(found_.scope, output_name(i), value);
}

void Node::set_narrow_output(const NarrowType& type) {
  if (!failed() && wants_output(0))
    builder_.set_narrow(found_.scope.values.at(output_name(0)), type);
}

void Node::become(const GraphProto& branch) {
  if (!failed()) fail(importer_.import_branch(branch, found_));
}

// --- parts of handlers ---------------------------------------------------------------------------

TensorId integers_constant(Node& node, const std::vector<std::int64_t>& values) {
  return node.constant(node.take(Tensor::from(values, {static_cast<std::int64_t>(values.size())})));
}

TensorId integer_constant(Node& node, std::int64_t value) {
  return node.constant(node.take(Tensor::from({value}, {})));
}

TensorId number_constant(Node& node, double value, DataType type) {
  // Behind a node that was given up, the type is not known and does not matter.
  if (type == DataType::undefined) type = DataType::float32;
  const Tensor made = node.take(Tensor::create(type, {}));
  if (!made.empty()) store(view_of(made), 0, value);
  return node.constant(made);
}

TensorId cast(Node& node, TensorId id, DataType type) {
  if (id == kNoTensor || node.type(id) == type) return id;
  return node.emit("cast", {id}, {{"to", to_string(type)}});
}

TensorId unsqueeze(Node& node, TensorId id, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? id : node.emit("unsqueeze", {id, integers_constant(node, axes)});
}

TensorId binary(Node& node, std::string_view op, TensorId a, TensorId b) {
  return node.emit("binary", {a, b}, {{"op", std::string(op)}});
}

TensorId unary(Node& node, std::string_view op, TensorId x, double alpha, double beta) {
  return node.emit("unary", {x}, {{"op", std::string(op)}, {"alpha", alpha}, {"beta", beta}});
}

TensorId less_zero_point(Node& node, TensorId x, TensorId zero_point,
                         const std::vector<std::int64_t>& axes) {
  const TensorId wide = cast(node, x, DataType::int32);
  if (zero_point == kNoTensor) return wide;
  const TensorId zero = cast(node, zero_point, DataType::int32);
  return binary(node, "sub", wide, unsqueeze(node, zero, axes));
}

std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> axes;
  for (; begin < end; ++begin) axes.push_back(begin);
  return axes;
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
