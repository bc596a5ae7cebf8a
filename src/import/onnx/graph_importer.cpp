#include "import/onnx/graph_importer.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "import/onnx/node_order.h"

namespace softneuro::onnx {
namespace {

constexpr int kMaxCallDepth = 16;

std::string normal_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::string describe(const TensorDef& def) {
  if (def.type == DataType::undefined) return "unknown";
  return fmt::format("{}[{}]", to_string(def.type), def.shape.str());
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

// Fills in what the model says of a value, where it is not known.
void apply_hint(Graph& graph, TensorId id, const std::string& name, const Scope& scope) {
  TensorDef& def = graph.tensor(id);
  if (def.shape.ranked() && def.type != DataType::undefined) return;
  const auto it = scope.hints.find(name);
  if (it == scope.hints.end()) return;
  Result<TensorDef> hint = read_value_info(*it->second);
  if (!hint.ok()) return;
  if (def.type == DataType::undefined) def.type = hint->type;
  if (!def.shape.ranked()) def.shape = hint->shape;
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

std::vector<std::string> names_of_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorId id : graph.inputs) names.push_back(graph.tensor(id).name);
  return names;
}

// `given`, as the value of an input that is declared so.
Result<Tensor> constant_as(const std::string& name, const Tensor& given, const TensorDef& declared,
                           Allocator& allocator) {
  Shape shape = given.shape();
  if (given.elements() == 1 && declared.shape.ranked()) {
    shape = Shape();
    for (int i = 0; i < declared.shape.rank(); ++i) shape.push_back(1);
  }
  bool fits = !declared.shape.ranked() || declared.shape.rank() == shape.rank();
  for (int i = 0; fits && declared.shape.ranked() && i < shape.rank(); ++i)
    fits = !declared.shape[i].known() || declared.shape[i].value == shape[i];
  if (!fits)
    return invalid_argument("input '{}' has the shape {}: a constant of the shape {} does not fit",
                            name, declared.shape.str(), given.shape().str());
  if (given.data_type() == declared.type) {
    SN_ASSIGN_OR_RETURN(const Tensor copy, given.clone(allocator));
    return copy.reshaped(shape);
  }
  SN_ASSIGN_OR_RETURN(Tensor value, Tensor::create(declared.type, shape, allocator));
  const bool is_numeric = given.elements() == 1 && given.data_type() != DataType::qint8;
  if (is_numeric) {
    const TensorView from = view_of(given), to = view_of(value);
    if (is_float(given.data_type()) || is_float(declared.type))
      store(to, 0, load(from, 0));
    else
      store_integer(to, 0, load_integer(from, 0));
    const double wanted = load(from, 0), made = load(to, 0);
    const bool is_rounded = is_float(declared.type) && std::isfinite(made) == std::isfinite(wanted);
    if (is_rounded || made == wanted) return value;
  }
  return invalid_argument("input '{}' is {}: {} does not fit", name, to_string(declared.type),
                          is_numeric
                              ? fmt::format("the constant {}", load(view_of(given), 0))
                              : fmt::format("a constant of {}", to_string(given.data_type())));
}

// Fills in the sizes that the options give.
Status fix_input_shapes(Graph& graph, const OnnxImportOptions& options) {
  // Symbol → its size, and the input that it was first seen in.
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (const auto& [name, shape] : options.shapes) {
    const TensorId id = graph.find_tensor(name);
    if (id == kNoTensor || !graph.is_input(id))
      return make_error(StatusCode::not_found,
                        "the model has no input '{}' to give a shape to; its inputs are '{}'", name,
                        fmt::join(names_of_inputs(graph), "', '"));
    DynamicShape& declared = graph.tensor(id).shape;
    bool fits = !declared.ranked() || declared.rank() == shape.rank();
    for (int i = 0; fits && declared.ranked() && i < shape.rank(); ++i) {
      fits = !declared[i].known() || declared[i].value == shape[i];
      if (declared[i].known() || declared[i].symbol.empty()) continue;
      const auto& [size, input] =
          symbols.try_emplace(declared[i].symbol, shape[i], name).first->second;
      if (size != shape[i])
        return invalid_argument("input '{}': dimension '{}' is {} here and {} in input '{}'", name,
                                declared[i].symbol, shape[i], size, input);
    }
    if (!fits || shape.elements() < 0)
      return invalid_argument("input '{}' has the shape {}: {} does not fit", name, declared.str(),
                              shape.str());
    declared = DynamicShape(shape);
  }
  for (const TensorId id : graph.inputs)
    for (Dim& dim : graph.tensor(id).shape.dims())
      if (const auto known = symbols.find(dim.symbol); !dim.known() && known != symbols.end())
        dim = Dim(known->second.first);
  return {};
}

}  // namespace

// --- the model -----------------------------------------------------------------------------------

Status GraphImporter::check_header() {
  constexpr std::int64_t oldest = 3;
  constexpr std::int64_t newest = 14;
  report_.ir_version = model_.ir_version();
  report_.producer = model_.producer_name();
  if (!model_.producer_version().empty()) report_.producer += " " + model_.producer_version();
  if (model_.ir_version() < oldest || model_.ir_version() > newest)
    return unsupported("the model has IR version {}: {} to {} are supported", model_.ir_version(),
                       oldest, newest);
  if (!model_.has_graph()) return invalid_model("the model holds no graph");
  return {};
}

Status GraphImporter::run() {
  SN_RETURN_IF_ERROR(check_header());
  const GraphProto& graph = model_.graph();
  builder_.graph().name = graph.name();
  Scope scope;
  SN_ASSIGN_OR_RETURN(scope.opsets, read_opsets(model_.opset_import()));
  const auto main = scope.opsets.find("");
  if (main != scope.opsets.end()) report_.opset = main->second;
  for (const FunctionProto& function : model_.functions())
    functions_[{normal_domain(function.domain()), function.name(), function.overload()}] =
        &function;
  for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const ValueInfoProto& info : *list) scope.hints[info.name()] = &info.type();
  for (const ValueInfoProto& info : graph.input()) builder_.reserve(info.name());
  for (const TensorProto& tensor : graph.initializer()) builder_.reserve(tensor.name());
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) builder_.reserve(output);

  SN_RETURN_IF_ERROR(import_initializers(graph, scope));
  // Set free what was copied: weights would lie in memory twice.
  for (TensorProto& tensor : *model_.mutable_graph()->mutable_initializer())
    if (tensor.has_raw_data()) std::string().swap(*tensor.mutable_raw_data());
  SN_RETURN_IF_ERROR(import_inputs(scope));
  SN_RETURN_IF_ERROR(fix_input_shapes(builder_.graph(), options_));
  SN_RETURN_IF_ERROR(import_nodes(graph.node(), scope));
  return import_outputs(scope);
}

Status GraphImporter::import_initializers(const GraphProto& graph, Scope& scope) {
  const auto add = [&](const std::string& name, const auto& proto, std::int32_t type) -> Status {
    if (name.empty()) return invalid_model("an initialiser has no name");
    if (scope.values.contains(name))
      return invalid_model("the initialiser '{}' is given twice", name);
    Result<Tensor> value = reader_.read(proto);
    if (value.ok()) {
      const TensorId id = builder_.add_value(scope, name, *value);
      if (const auto narrow = narrow_type(type)) builder_.set_narrow(id, *narrow);
    } else if (value.status().code() == StatusCode::unsupported) {
      refused_[builder_.add_value(scope, name)] = value.status().message();
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

Status GraphImporter::import_inputs(Scope& scope) {
  Graph& graph = builder_.graph();
  std::vector<std::string> names;
  for (const ValueInfoProto& info : model_.graph().input())
    if (!scope.values.contains(info.name())) names.push_back(info.name());
  for (const auto& given : options_.constants)
    if (std::ranges::find(names, given.first) == names.end())
      return make_error(StatusCode::not_found,
                        "the model has no input '{}' to give a constant to; its inputs are '{}'",
                        given.first, fmt::join(names, "', '"));
  for (const ValueInfoProto& info : model_.graph().input()) {
    if (info.name().empty()) return invalid_model("a graph input has no name");
    // Before IR version 4 every initialiser had to be listed as an input as well.
    const auto known = scope.values.find(info.name());
    if (known != scope.values.end()) {
      if (graph.is_input(known->second))
        return invalid_model("the graph input '{}' is given twice", info.name());
      continue;
    }
    Result<TensorDef> def = read_value_info(info.type());
    if (const auto given = options_.constants.find(info.name());
        given != options_.constants.end() && def.ok()) {
      SN_ASSIGN_OR_RETURN(const Tensor value,
                          constant_as(info.name(), given->second, *def, reader_.allocator()));
      builder_.add_value(scope, info.name(), value);
      continue;
    }
    const TensorId id = builder_.add_value(scope, info.name());
    graph.inputs.push_back(id);
    if (!def.ok()) {
      refused_[id] = def.status().message();
      tainted_.insert(id);
      report_.unsupported.push_back({fmt::format("graph input '{}'", info.name()), "", "",
                                     report_.opset, "", def.status().message()});
      continue;
    }
    graph.tensor(id).type = def->type;
    graph.tensor(id).shape = def->shape;
  }
  return {};
}

Status GraphImporter::import_outputs(Scope& scope) {
  if (model_.graph().output().empty()) return invalid_model("the graph has no outputs");
  Graph& graph = builder_.graph();
  std::unordered_set<TensorId> claimed(graph.inputs.begin(), graph.inputs.end());
  std::unordered_set<std::string_view> names;
  for (const ValueInfoProto& info : model_.graph().output()) {
    if (!names.insert(info.name()).second)
      return invalid_model("the graph output '{}' is given twice", info.name());
    const TensorId* found = scope.find(info.name());
    if (found == nullptr || *found == kNoTensor)
      return invalid_model("nothing gives the graph output '{}'", info.name());
    TensorId id = *found;
    const bool same_name = graph.tensor(id).name == info.name();
    const bool passed_through = graph.is_input(id) && same_name;
    if (passed_through || refused_.contains(id) || tainted_.contains(id)) {
      graph.outputs.push_back(id);
      continue;
    }
    if (graph.tensor(id).is_constant() || claimed.contains(id)) {
      // An output of its own: constants and inputs keep theirs, two outputs are two tensors.
      SN_ASSIGN_OR_RETURN(id, builder_.add_copy(id, info.name()));
    } else if (!same_name) {
      graph.rename_tensor(id, info.name());
    }
    claimed.insert(id);
    graph.outputs.push_back(id);
  }
  return {};
}

// --- nodes ---------------------------------------------------------------------------------------

Status GraphImporter::import_nodes(const Nodes& nodes, Scope& scope) {
  for (const int index : order_of(nodes)) {
    SN_RETURN_IF_ERROR(check_cancelled(options_.cancel));
    if (static_cast<std::int64_t>(++report_.nodes) > options_.max_nodes)
      return unsupported(
          "the model has more than {} nodes, its functions expanded, which is the most that is "
          "imported: split it into several models",
          options_.max_nodes);
    SN_RETURN_IF_ERROR(import_node(nodes[index], index, scope));
  }
  return {};
}

Status GraphImporter::give_up(const FoundNode& found, const std::string& reason, bool report) {
  if (report) {
    UnsupportedNode failure{found.name, found.proto.op_type(), found.domain, found.opset, "",
                            reason};
    for (const TensorId id : found.inputs) {
      if (!failure.types.empty()) failure.types += ", ";
      failure.types += id == kNoTensor ? "none" : describe(builder_.graph().tensor(id));
    }
    report_.unsupported.push_back(std::move(failure));
  }
  for (const std::string& output : found.proto.output()) {
    if (output.empty()) continue;
    const auto known = found.scope.values.find(output);
    const TensorId id =
        known != found.scope.values.end() ? known->second : builder_.add_value(found.scope, output);
    apply_hint(builder_.graph(), id, output, found.scope);
    tainted_.insert(id);
  }
  return {};
}

Status GraphImporter::import_node(const NodeProto& proto, int index, Scope& scope) {
  FoundNode found{proto, scope, scope.prefix, normal_domain(proto.domain())};
  found.name += proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
  const std::string* refused = nullptr;
  for (const std::string& input : proto.input()) {
    const TensorId* id = input.empty() ? &kNoTensor : scope.find(input);
    if (id == nullptr)
      return invalid_model("node '{}' ({}) uses '{}', which nothing before it gives", found.name,
                           proto.op_type(), input);
    found.inputs.push_back(*id);
    const auto it = refused_.find(*id);
    if (it != refused_.end()) refused = &it->second;
  }
  while (!found.inputs.empty() && found.inputs.back() == kNoTensor) found.inputs.pop_back();
  std::unordered_set<std::string_view> own;
  for (const std::string& output : proto.output())
    if (!output.empty() && (scope.values.contains(output) || !own.insert(output).second))
      return invalid_model("node '{}' ({}) gives '{}', which is given already", found.name,
                           proto.op_type(), output);
  const auto opset = scope.opsets.find(found.domain);
  if (opset != scope.opsets.end()) found.opset = opset->second;
  if (refused != nullptr) return give_up(found, *refused);

  const bool is_default = found.domain.empty();
  const Operator* op = is_default ? find_operator(proto.op_type(), found.opset) : nullptr;
  if (op != nullptr) return import_operator(found, *op);
  const auto function = functions_.find({found.domain, proto.op_type(), proto.overload()});
  if (function != functions_.end()) return import_call(found, *function->second);
  if (!is_default)
    return give_up(found,
                   fmt::format("operators of the domain '{}' are not supported{}", found.domain,
                               found.domain == "com.microsoft"
                                   ? ": export the model without ONNX Runtime's optimiser"
                                   : ""));
  if (found.opset == 0) return invalid_model("the model does not say which operator set it uses");
  if (find_operator(proto.op_type(), kNewestOpset) == nullptr)
    return give_up(found, fmt::format("this operator is not known in any operator set up to {}: "
                                      "its name is misspelt, or its domain is missing",
                                      kNewestOpset));
  return give_up(found,
                 fmt::format("this operator does not exist in operator set {}", found.opset));
}

Status GraphImporter::import_operator(const FoundNode& found, const Operator& op) {
  if (op.import == nullptr) return give_up(found, std::string(op.detail));
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.min_inputs); ++i)
    if (i >= found.inputs.size() || found.inputs[i] == kNoTensor)
      return give_up(found, fmt::format("input {} is missing", i));
  if (op.max_inputs >= 0 && found.inputs.size() > static_cast<std::size_t>(op.max_inputs))
    return give_up(found, fmt::format("{} inputs where at most {} are possible",
                                      found.inputs.size(), op.max_inputs));
  const bool taints = std::any_of(found.inputs.begin(), found.inputs.end(),
                                  [&](TensorId id) { return tainted_.contains(id); });
  Node node(*this, found, op);
  op.import(node);
  for (const std::string& output : found.proto.output())
    if (!output.empty() && !found.scope.values.contains(output))
      node.refuse("its output '{}' is not supported", output);
  if (node.failed()) {
    // Behind a node that was given up, only what the node itself says counts.
    const bool report =
        !taints || (node.status().code() == StatusCode::unsupported && !node.lacks_knowledge());
    return give_up(found, node.status().message(), report);
  }
  for (const std::string& output : found.proto.output()) {
    if (output.empty()) continue;
    const TensorId id = found.scope.values.at(output);
    apply_hint(builder_.graph(), id, output, found.scope);
    if (taints) tainted_.insert(id);
  }
  return {};
}

Status GraphImporter::import_call(const FoundNode& found, const FunctionProto& function) {
  if (found.scope.depth >= kMaxCallDepth)
    return unsupported("node '{}': functions are nested more than {} deep, or call themselves",
                       found.name, kMaxCallDepth);
  if (found.inputs.size() > static_cast<std::size_t>(function.input_size()))
    return invalid_model("node '{}' gives {} inputs to the function '{}', which takes {}",
                         found.name, found.inputs.size(), function.name(), function.input_size());
  Scope inner;
  inner.depth = found.scope.depth + 1;
  inner.prefix = found.name + "/";
  SN_ASSIGN_OR_RETURN(inner.opsets, read_opsets(function.opset_import()));
  for (int i = 0; i < function.input_size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    inner.values[function.input(i)] = k < found.inputs.size() ? found.inputs[k] : kNoTensor;
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
                           function.name(), i, found.name);
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
  inner.prefix = node.name + "/";
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
