#include "import/onnx/node.h"

#include <algorithm>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "import/onnx/graph_importer.h"

namespace softneuro::onnx {
namespace {

const char* kind_name(std::int32_t kind) {
  constexpr const char* names[] = {"nothing",  "a number", "an integer", "a string",
                                   "a tensor", "a graph",  "numbers",    "integers",
                                   "strings",  "tensors",  "graphs",     "a sparse tensor"};
  return kind >= 0 && kind < static_cast<std::int32_t>(std::size(names)) ? names[kind]
                                                                         : "something unknown";
}

// A constant of the node whose elements `fill` writes.
template <class Fill>
TensorId make_constant(Node& node, DataType type, const Shape& shape, Fill&& fill) {
  if (node.failed()) return kNoTensor;
  Result<Tensor> made = Tensor::create(type, shape);
  if (!made.ok()) {
    node.fail(made.status());
    return kNoTensor;
  }
  fill(*made);
  return node.constant(*std::move(made));
}

}  // namespace

Node::Node(GraphImporter& importer, Scope& scope, const NodeProto& proto, std::string name,
           const Operator& op, std::int64_t opset, std::vector<TensorId> inputs)
    : importer_(importer),
      scope_(scope),
      proto_(proto),
      name_(std::move(name)),
      operator_(op),
      opset_(opset),
      inputs_(std::move(inputs)) {}

void Node::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Node::fail_for_knowledge(Status status) {
  if (!status_.ok()) return;
  status_ = std::move(status);
  lacks_knowledge_ = true;
}

std::size_t Node::output_count() const {
  int count = proto_.output_size();
  while (count > 0 && proto_.output(count - 1).empty()) --count;
  return static_cast<std::size_t>(count);
}

bool Node::wants_output(std::size_t i) const {
  return i < output_count() && !proto_.output(static_cast<int>(i)).empty();
}

// --- what is known of a tensor -------------------------------------------------------------------

const TensorDef& Node::tensor(TensorId id) const {
  static const TensorDef none;
  return id == kNoTensor ? none : importer_.graph().tensor(id);
}

DataType Node::type(TensorId id) const {
  return tensor(id).type;
}

int Node::rank(TensorId id) const {
  return shape(id).ranked() ? shape(id).rank() : -1;
}

int Node::need_rank(TensorId id) {
  const int known = rank(id);
  if (known < 0 && !failed())
    fail_for_knowledge(
        unsupported("the rank of '{}' is not known, and this operator needs it", tensor(id).name));
  return std::max(known, 0);
}

std::int64_t Node::dim(TensorId id, int axis) const {
  return axis >= 0 && axis < rank(id) ? shape(id)[axis].value : -1;
}

std::int64_t Node::need_dim(TensorId id, int axis) {
  const std::int64_t known = dim(id, axis);
  if (known < 0 && !failed())
    fail_for_knowledge(unsupported("dimension {} of '{}' is not known, and this operator needs it",
                                   axis, tensor(id).name));
  return std::max<std::int64_t>(known, 0);
}

const Tensor* Node::value(TensorId id) const {
  return id == kNoTensor ? nullptr : importer_.known_value(id);
}

std::optional<std::vector<std::int64_t>> Node::integers(TensorId id) const {
  const Tensor* constant_value = value(id);
  if (constant_value == nullptr) return std::nullopt;
  return integers_of(*constant_value);
}

std::optional<double> Node::number(TensorId id) const {
  const Tensor* constant_value = value(id);
  if (constant_value == nullptr || constant_value->elements() != 1) return std::nullopt;
  TensorView view;
  view.type = constant_value->data_type();
  view.data = const_cast<void*>(constant_value->data());
  return load(view, 0);
}

// --- attributes ----------------------------------------------------------------------------------

const AttributeProto* Node::find(std::string_view name) const {
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto it = scope_.attributes.find(attribute.ref_attr_name());
    return it == scope_.attributes.end() ? nullptr : it->second;
  }
  return nullptr;
}

const AttributeProto* Node::expect(std::string_view name, std::int32_t kind) {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return nullptr;
  // Models of the first IR versions do not say the kind.
  if (attribute->type() != 0 && attribute->type() != kind) {
    reject("the attribute '{}' is {}, not {}", name, kind_name(attribute->type()), kind_name(kind));
    return nullptr;
  }
  return attribute;
}

std::int64_t Node::integer(std::string_view name, std::int64_t fallback) {
  const AttributeProto* attribute = expect(name, 2);
  return attribute == nullptr ? fallback : attribute->i();
}

double Node::real(std::string_view name, double fallback) {
  const AttributeProto* attribute = expect(name, 1);
  return attribute == nullptr ? fallback : static_cast<double>(attribute->f());
}

std::string Node::text(std::string_view name, std::string_view fallback) {
  const AttributeProto* attribute = expect(name, 3);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

std::vector<std::int64_t> Node::integers(std::string_view name) {
  const AttributeProto* attribute = expect(name, 7);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> Node::reals(std::string_view name) {
  const AttributeProto* attribute = expect(name, 6);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> Node::texts(std::string_view name) {
  const AttributeProto* attribute = expect(name, 8);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::int64_t Node::required_integer(std::string_view name) {
  if (!has(name)) reject("the attribute '{}' is missing", name);
  return integer(name, 0);
}

std::vector<std::int64_t> Node::required_integers(std::string_view name) {
  if (!has(name)) reject("the attribute '{}' is missing", name);
  return integers(name);
}

Tensor Node::tensor_attribute(std::string_view name) {
  const AttributeProto* attribute = expect(name, 4);
  if (attribute == nullptr || !attribute->has_t()) {
    reject("the attribute '{}' is missing", name);
    return {};
  }
  Result<Tensor> tensor_value = importer_.reader().read(attribute->t());
  if (!tensor_value.ok()) {
    fail(Status(tensor_value.status()).with_context(fmt::format("attribute '{}'", name)));
    return {};
  }
  return *std::move(tensor_value);
}

DataType Node::data_type(std::string_view name, std::int64_t fallback) {
  const Result<DataType> known = element_type(integer(name, fallback));
  if (!known.ok()) fail(known.status());
  return known.ok() ? *known : DataType::undefined;
}

std::string Node::choice(std::string_view name, std::string_view fallback,
                         std::initializer_list<std::string_view> allowed) {
  std::string chosen = text(name, fallback);
  if (std::find(allowed.begin(), allowed.end(), chosen) == allowed.end())
    refuse("the attribute '{}' is '{}', which is not known", name, chosen);
  return chosen;
}

// --- building ------------------------------------------------------------------------------------

TensorId Node::constant(Tensor constant_value, std::string_view suffix) {
  if (failed() || constant_value.empty()) return kNoTensor;
  return importer_.add_constant(fmt::format("{}/{}", name_, suffix), std::move(constant_value));
}

TensorId Node::integers_constant(std::span<const std::int64_t> values) {
  const Shape list{static_cast<std::int64_t>(values.size())};
  return make_constant(*this, DataType::int64, list, [&](Tensor& made) {
    std::copy(values.begin(), values.end(), made.mutable_values<std::int64_t>().begin());
  });
}

TensorId Node::integer_constant(std::int64_t number_value) {
  return make_constant(*this, DataType::int64, Shape{}, [&](Tensor& made) {
    made.mutable_values<std::int64_t>()[0] = number_value;
  });
}

TensorId Node::number_constant(double number_value, DataType constant_type) {
  // Behind a node that was given up, the type is not known and does not matter.
  if (constant_type == DataType::undefined) constant_type = DataType::float32;
  return make_constant(*this, constant_type, Shape{}, [&](Tensor& made) {
    TensorView view;
    view.type = constant_type;
    view.data = made.mutable_data();
    store(view, 0, number_value);
  });
}

std::vector<TensorId> Node::add_layer(std::string_view layer_type,
                                      std::vector<TensorId> layer_inputs, const LayerParams& params,
                                      std::vector<TensorId> outputs,
                                      const std::string& layer_name) {
  if (failed()) return outputs;
  while (!layer_inputs.empty() && layer_inputs.back() == kNoTensor) layer_inputs.pop_back();
  const LayerType* found = importer_.types().find(layer_type);
  if (found == nullptr) {
    fail(unsupported("the layer type '{}' is not part of this build", layer_type));
    return outputs;
  }
  const auto count = static_cast<int>(layer_inputs.size());
  if (!found->inputs.allows(count)) {
    reject("{} inputs are not possible here", count);
    return outputs;
  }
  Params complete = params;
  if (Status status = found->check_params(complete); !status.ok()) {
    fail(std::move(status));
    return outputs;
  }
  Layer& layer = importer_.graph().add_layer(*found, importer_.unique_layer_name(layer_name),
                                             std::move(layer_inputs), outputs, std::move(complete));
  layer.sources = {name_};
  if (Status status = importer_.infer(layer); !status.ok()) fail(std::move(status));
  return outputs;
}

std::vector<TensorId> Node::emit_all(std::string_view layer_type,
                                     std::vector<TensorId> layer_inputs, const LayerParams& params,
                                     std::size_t count) {
  std::vector<TensorId> outputs(count, kNoTensor);
  if (failed()) return outputs;
  const std::string layer_name = fmt::format("{}/{}", name_, layer_type);
  for (TensorId& output : outputs) output = importer_.add_temporary(layer_name);
  return add_layer(layer_type, std::move(layer_inputs), params, std::move(outputs), layer_name);
}

TensorId Node::emit(std::string_view layer_type, std::vector<TensorId> layer_inputs,
                    const LayerParams& params) {
  return emit_all(layer_type, std::move(layer_inputs), params, 1).front();
}

void Node::finish(std::string_view layer_type, std::vector<TensorId> layer_inputs,
                  const LayerParams& params) {
  if (failed()) return;
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < output_count(); ++i)
    outputs.push_back(wants_output(i)
                          ? importer_.add_value(scope_, proto_.output(static_cast<int>(i)))
                          : kNoTensor);
  if (outputs.empty()) return;  // all outputs are unused
  const LayerType* found = importer_.types().find(layer_type);
  if (found != nullptr && found->outputs.max >= 0 &&
      outputs.size() > static_cast<std::size_t>(found->outputs.max))
    return refuse("{} outputs where at most {} are possible", outputs.size(), found->outputs.max);
  // Output 0 always exists, even if it is unused.
  if (outputs[0] == kNoTensor) outputs[0] = importer_.add_temporary(name_ + "/unused");
  add_layer(layer_type, std::move(layer_inputs), params, std::move(outputs), name_);
}

void Node::finish_output(std::size_t i, std::string_view layer_type,
                         std::vector<TensorId> layer_inputs, const LayerParams& params) {
  if (failed() || !wants_output(i)) return;
  const TensorId output = importer_.add_value(scope_, proto_.output(static_cast<int>(i)));
  add_layer(layer_type, std::move(layer_inputs), params, {output},
            i == 0 ? name_ : fmt::format("{}/output{}", name_, i));
}

void Node::define(std::size_t i, TensorId id) {
  if (failed() || !wants_output(i)) return;
  if (tensor(id).is_constant()) {
    scope_.values[proto_.output(static_cast<int>(i))] = id;
    return;
  }
  finish_output(i, "identity", {id});
}

void Node::define_constant(std::size_t i, Tensor constant_value) {
  if (failed() || !wants_output(i)) return;
  importer_.add_constant_value(scope_, proto_.output(static_cast<int>(i)),
                               std::move(constant_value));
}

void Node::become(const GraphProto& branch) {
  if (!failed()) fail(importer_.import_branch(branch, proto_, name_, scope_));
}

TensorId Node::cast(TensorId id, DataType wanted) {
  if (id == kNoTensor || type(id) == wanted) return id;
  return emit("cast", {id}, {{"to", std::string(to_string(wanted))}});
}

TensorId Node::unsqueeze(TensorId id, std::span<const std::int64_t> axes) {
  if (axes.empty()) return id;
  return emit("unsqueeze", {id, integers_constant(axes)});
}

void import_layer(Node& node) {
  node.finish(node.detail(), node.inputs());
}

std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> axes;
  for (; begin < end; ++begin) axes.push_back(begin);
  return axes;
}

}  // namespace softneuro::onnx
