#include "import/onnx/graph_importer.h"

#include "core/base/error.h"
#include "import/onnx/node_order.h"

namespace softneuro::onnx {
namespace {

constexpr int kMaxCallDepth = 16;

std::string normal_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

// Reads type and shape of a graph input; unsupported if it is no tensor of a known type.
Result<TensorDef> read_value_info(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType:
      break;
    case TypeProto::kSequenceType:
      return unsupported("sequences are not supported");
    case TypeProto::kOptionalType:
      return unsupported("optional values are not supported");
    case TypeProto::kMapType:
      return unsupported("maps are not supported");
    case TypeProto::kSparseTensorType:
      return unsupported("sparse tensors as inputs are not supported");
    default:
      return unsupported("it is not declared as a tensor");
  }
  TensorDef def;
  SN_ASSIGN_OR_RETURN(def.type, element_type(type.tensor_type().elem_type()));
  if (!type.tensor_type().has_shape()) return def;
  const auto& dims = type.tensor_type().shape().dim();
  if (!Shape::fits(static_cast<std::size_t>(dims.size())))
    return unsupported("it has {} dimensions: at most {} are supported", dims.size(), kMaxRank);
  std::vector<Dim> known;
  for (const auto& dim : dims) {
    if (dim.value_case() == TensorShapeProto::Dimension::kDimParam)
      known.emplace_back(dim.dim_param());
    else if (dim.value_case() == TensorShapeProto::Dimension::kDimValue && dim.dim_value() >= 0)
      known.emplace_back(dim.dim_value());
    else
      known.emplace_back();
  }
  def.shape = DynamicShape(std::move(known));
  return def;
}

Result<std::map<std::string, std::int64_t>> read_opsets(
    const google::protobuf::RepeatedPtrField<OperatorSetIdProto>& opsets) {
  std::map<std::string, std::int64_t> result;
  for (const OperatorSetIdProto& opset : opsets)
    result[normal_domain(opset.domain())] = opset.version();
  const auto it = result.find("");
  if (it == result.end()) return result;
  if (it->second < kOldestOpset || it->second > kNewestOpset)
    return unsupported("the model uses operator set {}: {} to {} are supported", it->second,
                       kOldestOpset, kNewestOpset);
  return result;
}

}  // namespace

// --- the model -----------------------------------------------------------------------------------

Status GraphImporter::check_header() {
  constexpr std::int64_t oldest = 3;
  constexpr std::int64_t newest = 14;
  build::ImportReport& report = model_.report();
  report.version = proto_.ir_version();
  report.opset = 0;
  report.producer = proto_.producer_name();
  if (!proto_.producer_version().empty()) report.producer += " " + proto_.producer_version();
  if (proto_.ir_version() < oldest || proto_.ir_version() > newest)
    return unsupported("the model has IR version {}: {} to {} are supported", proto_.ir_version(),
                       oldest, newest);
  if (!proto_.has_graph()) return invalid_model("the model holds no graph");
  return {};
}

Status GraphImporter::run() {
  SN_RETURN_IF_ERROR(check_header());
  const GraphProto& graph = proto_.graph();
  builder().graph().name = graph.name();
  Scope scope;
  SN_ASSIGN_OR_RETURN(scope.opsets, read_opsets(proto_.opset_import()));
  const auto main = scope.opsets.find("");
  if (main != scope.opsets.end()) model_.report().opset = main->second;
  for (const FunctionProto& function : proto_.functions())
    functions_[{normal_domain(function.domain()), function.name(), function.overload()}] =
        &function;
  for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const ValueInfoProto& info : *list) scope.hints[info.name()] = &info.type();
  for (const ValueInfoProto& info : graph.input()) builder().reserve(info.name());
  for (const TensorProto& tensor : graph.initializer()) builder().reserve(tensor.name());
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) builder().reserve(output);

  // Before IR version 4 every initialiser had to be listed as an input as well: the first counts.
  SN_RETURN_IF_ERROR(import_initializers(graph, scope));
  // Set free what was copied: weights would be in memory twice.
  for (TensorProto& tensor : *proto_.mutable_graph()->mutable_initializer())
    if (tensor.has_raw_data()) std::string().swap(*tensor.mutable_raw_data());
  std::vector<build::ModelInput> inputs;
  for (const ValueInfoProto& info : graph.input())
    inputs.push_back({info.name(), read_value_info(info.type())});
  SN_RETURN_IF_ERROR(model_.add_inputs(scope, inputs));
  SN_RETURN_IF_ERROR(import_nodes(graph.node(), scope));
  std::vector<std::string> outputs;
  for (const ValueInfoProto& info : graph.output()) outputs.push_back(info.name());
  return model_.add_outputs(scope, outputs);
}

Status GraphImporter::import_initializers(const GraphProto& graph, Scope& scope) {
  const auto add = [&](const std::string& name, const auto& proto, std::int32_t type) -> Status {
    if (name.empty()) return invalid_model("an initialiser has no name");
    if (scope.values.contains(name))
      return invalid_model("the initialiser '{}' is given twice", name);
    Result<Tensor> value = reader_.read(proto);
    if (value.ok()) {
      const TensorId id = builder().add_value(scope, name, *value);
      if (const auto narrow = narrow_type(type)) builder().set_narrow(id, *narrow);
    } else if (value.status().code() == StatusCode::unsupported) {
      model_.add_refused(scope, name, value.status().message());
    } else {
      return Status(value.status()).with_context(fmt::format("initialiser '{}'", name));
    }
    return {};
  };
  for (const TensorProto& proto : graph.initializer())
    SN_RETURN_IF_ERROR(add(proto.name(), proto, proto.data_type()));
  for (const SparseTensorProto& proto : graph.sparse_initializer())
    SN_RETURN_IF_ERROR(add(proto.values().name(), proto, proto.values().data_type()));
  return {};
}

// --- nodes ---------------------------------------------------------------------------------------

Status GraphImporter::import_nodes(const Nodes& nodes, Scope& scope) {
  for (const int index : order_of(nodes))
    SN_RETURN_IF_ERROR(import_node(nodes[index], index, scope));
  return {};
}

// Fills in what the model says of the node's outputs, where it is not known.
void GraphImporter::apply_hints(const FoundNode& found) {
  for (const std::string& output : found.node.output_names) {
    if (output.empty()) continue;
    const auto it = found.scope.hints.find(output);
    if (it == found.scope.hints.end()) continue;
    if (const Result<TensorDef> hint = read_value_info(*it->second); hint.ok())
      model_.declare(found.scope.values.at(output), *hint);
  }
}

Status GraphImporter::give_up(const FoundNode& found, const std::string& reason) {
  model_.give_up(found.node, reason);
  apply_hints(found);
  return {};
}

Status GraphImporter::import_node(const NodeProto& proto, int index, Scope& scope) {
  const std::string domain = normal_domain(proto.domain());
  const auto known = scope.opsets.find(domain);
  const std::int64_t opset = known == scope.opsets.end() ? 0 : known->second;
  const std::string name =
      proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
  FoundNode found{proto,
                  scope,
                  {scope,
                   scope.prefix + name,
                   proto.op_type(),
                   domain,
                   opset,
                   {proto.input().begin(), proto.input().end()},
                   {proto.output().begin(), proto.output().end()}}};
  SN_ASSIGN_OR_RETURN(const bool usable, model_.begin(found.node));
  if (!usable) {
    apply_hints(found);
    return {};
  }
  const bool is_default = domain.empty();
  const Operator* op = is_default ? find_operator(proto.op_type(), opset) : nullptr;
  if (op != nullptr) {
    import_operator(found, *op);
    return {};
  }
  const auto function = functions_.find({domain, proto.op_type(), proto.overload()});
  if (function != functions_.end()) return import_call(found, *function->second);
  if (!is_default)
    return give_up(found, fmt::format("operators of the domain '{}' are not supported{}", domain,
                                      domain == "com.microsoft"
                                          ? ": export the model without ONNX Runtime's optimiser"
                                          : ""));
  if (opset == 0) return invalid_model("the model does not say which operator set it uses");
  if (find_operator(proto.op_type(), kNewestOpset) == nullptr)
    return give_up(found, fmt::format("this operator is not known in any operator set up to {}: "
                                      "its name is misspelt, or its domain is missing",
                                      kNewestOpset));
  return give_up(found, fmt::format("this operator does not exist in operator set {}", opset));
}

void GraphImporter::import_operator(const FoundNode& found, const Operator& op) {
  Node node(*this, found, op);
  if (op.import == nullptr) node.refuse("{}", op.detail);
  node.expect_inputs(op.min_inputs, op.max_inputs);
  if (!node.failed()) op.import(node);
  model_.end(node);
  apply_hints(found);
}

Status GraphImporter::import_call(const FoundNode& found, const FunctionProto& function) {
  if (found.scope.depth >= kMaxCallDepth)
    return unsupported("node '{}': functions are nested more than {} deep, or call themselves",
                       found.node.name, kMaxCallDepth);
  if (found.node.inputs.size() > static_cast<std::size_t>(function.input_size()))
    return invalid_model("node '{}' gives {} inputs to the function '{}', which takes {}",
                         found.node.name, found.node.inputs.size(), function.name(),
                         function.input_size());
  Scope inner;
  inner.depth = found.scope.depth + 1;
  inner.prefix = found.node.name + "/";
  SN_ASSIGN_OR_RETURN(inner.opsets, read_opsets(function.opset_import()));
  for (int i = 0; i < function.input_size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    inner.values[function.input(i)] =
        k < found.node.inputs.size() ? found.node.inputs[k] : kNoTensor;
  }
  for (const AttributeProto& attribute : function.attribute_proto())
    inner.attributes[attribute.name()] = &attribute;
  for (const AttributeProto& attribute : found.proto.attribute())
    if (const AttributeProto* given = found.scope.resolve(attribute); given != nullptr)
      inner.attributes[attribute.name()] = given;
  SN_RETURN_IF_ERROR(import_nodes(function.node(), inner));
  for (int i = 0; i < found.proto.output_size(); ++i) {
    if (found.proto.output(i).empty()) continue;
    const TensorId* id = i < function.output_size() ? inner.find(function.output(i)) : nullptr;
    if (id == nullptr || *id == kNoTensor)
      return invalid_model("the function '{}' does not give output {} of node '{}'",
                           function.name(), i, found.node.name);
    found.scope.values[found.proto.output(i)] = *id;
  }
  return {};
}

Status GraphImporter::import_branch(const GraphProto& branch, const FoundNode& node) {
  if (node.scope.depth >= kMaxCallDepth)
    return unsupported("branches are nested more than {} deep", kMaxCallDepth);
  Scope inner;
  inner.parent = &node.scope;
  inner.opsets = node.scope.opsets;
  inner.attributes = node.scope.attributes;
  inner.depth = node.scope.depth + 1;
  inner.prefix = node.node.name + "/";
  for (const ValueInfoProto& info : branch.value_info()) inner.hints[info.name()] = &info.type();
  SN_RETURN_IF_ERROR(import_initializers(branch, inner));
  SN_RETURN_IF_ERROR(import_nodes(branch.node(), inner));
  for (int i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty()) continue;
    const TensorId* id = i < branch.output_size() ? inner.find(branch.output(i).name()) : nullptr;
    if (id == nullptr || *id == kNoTensor)
      return invalid_model("the branch '{}' does not give output {}", branch.name(), i);
    node.scope.values[node.proto.output(i)] = *id;
  }
  return {};
}

}  // namespace softneuro::onnx
