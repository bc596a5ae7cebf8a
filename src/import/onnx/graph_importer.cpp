#include "import/onnx/graph_importer.h"

#include <algorithm>

#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "import/onnx/node_order.h"
#include "routines/builtin.h"

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

}  // namespace

const TensorId* Scope::find(const std::string& value) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    const auto it = scope->values.find(value);
    if (it != scope->values.end()) return &it->second;
  }
  return nullptr;
}

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

GraphImporter::GraphImporter(ModelProto& model, std::string base_folder,
                             const OnnxImportOptions& options)
    : model_(model),
      options_(options),
      types_(builtin_layer_types()),
      reader_(std::move(base_folder), options) {}

// --- names ---------------------------------------------------------------------------------------

std::string GraphImporter::unique_name(const std::string& base, bool reserved_too) {
  const auto taken = [&](const std::string& name) {
    return tensor_names_.contains(name) || (reserved_too && reserved_names_.contains(name));
  };
  std::string name = base;
  if (taken(name)) {
    int& next = next_suffix_[base];
    do name = fmt::format("{}_{}", base, ++next);
    while (taken(name));
  }
  tensor_names_.insert(name);
  return name;
}

TensorId GraphImporter::add_value(Scope& scope, const std::string& name) {
  TensorDef def;
  def.name = unique_name(scope.prefix + name, scope.depth > 0);
  const TensorId id = graph_.add_tensor(std::move(def));
  scope.values.emplace(name, id);
  return id;
}

TensorId GraphImporter::add_constant_value(Scope& scope, const std::string& name, Tensor value) {
  const TensorId id =
      graph_.add_constant(unique_name(scope.prefix + name, scope.depth > 0), std::move(value));
  scope.values.emplace(name, id);
  return id;
}

TensorId GraphImporter::add_temporary(const std::string& name) {
  TensorDef def;
  def.name = unique_name(name, true);
  return graph_.add_tensor(std::move(def));
}

TensorId GraphImporter::add_constant(const std::string& name, Tensor value) {
  return graph_.add_constant(unique_name(name, true), std::move(value));
}

std::string GraphImporter::unique_layer_name(const std::string& base) {
  std::string name = base;
  if (layer_names_.insert(name).second) return name;
  int& next = next_layer_suffix_[base];
  do name = fmt::format("{}_{}", base, ++next);
  while (!layer_names_.insert(name).second);
  return name;
}

// --- knowledge -----------------------------------------------------------------------------------

void GraphImporter::taint(TensorId id) {
  if (tainted_.size() <= id) tainted_.resize(id + 1, false);
  tainted_[id] = true;
}

void GraphImporter::apply_hint(TensorId id, const std::string& name, const Scope& scope) {
  TensorDef& def = graph_.tensor(id);
  if (def.shape.ranked() && def.type != DataType::undefined) return;
  const auto it = scope.hints.find(name);
  if (it == scope.hints.end()) return;
  Result<TensorDef> hint = read_value_info(*it->second);
  if (!hint.ok()) return;
  if (def.type == DataType::undefined) def.type = hint->type;
  if (!def.shape.ranked()) def.shape = hint->shape;
}

Status GraphImporter::infer(const Layer& layer) {
  std::vector<InferContext::Input> inputs;
  for (const TensorId id : layer.inputs) {
    InferContext::Input input;
    if (id != kNoTensor) {
      const TensorDef& def = graph_.tensor(id);
      if (def.type == DataType::undefined) return {};  // comes from a node that was given up
      input.type = def.type;
      input.shape = def.shape;
      input.value = known_value(id);
    }
    inputs.push_back(std::move(input));
  }
  std::vector<InferContext::Output> outputs(layer.outputs.size());
  InferContext context(layer.params, inputs, outputs);
  SN_RETURN_IF_ERROR(layer.type->infer(context));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (layer.outputs[i] == kNoTensor) continue;
    TensorDef& def = graph_.tensor(layer.outputs[i]);
    def.type = outputs[i].type;
    def.shape = std::move(outputs[i].shape);
  }
  shape_values_.visit(layer);
  fold(layer);
  return {};
}

const Tensor* GraphImporter::known_value(TensorId id) {
  if (const Tensor* value = shape_values_.tensor(id); value != nullptr) return value;
  const auto it = folded_.find(id);
  return it == folded_.end() ? nullptr : &it->second;
}

// What exporters compute from constants to get at sizes, paddings and conditions is small; large
// constants are the passes' business.
void GraphImporter::fold(const Layer& layer) {
  constexpr std::size_t max_input_bytes = 16384;
  constexpr std::int64_t max_output_bytes = 2048;
  // As much as any one of the above takes, whose work is by elements: a product over many axes of
  // small constants is none of them.
  constexpr double max_steps = 1e6;
  if (layer.type->data_dependent_output || layer.inputs.empty()) return;
  bool all_known = true;
  for (const TensorId id : layer.outputs) {
    if (id == kNoTensor) continue;
    const TensorDef& def = graph_.tensor(id);
    if (!def.shape.is_static()) return;
    const std::int64_t bytes = storage_bytes(def.type, def.shape.to_shape(), Layout::plain);
    if (bytes < 0 || bytes > max_output_bytes) return;
    all_known = all_known && known_value(id) != nullptr;
  }
  if (all_known) return;
  std::vector<Tensor> inputs;
  std::size_t input_bytes = 0;
  for (const TensorId id : layer.inputs) {
    inputs.emplace_back();
    if (id == kNoTensor) continue;
    const Tensor* value = known_value(id);
    if (value == nullptr) return;
    inputs.back() = *value;
    input_bytes += value->bytes();
  }
  if (input_bytes > max_input_bytes) return;
  if (!registry_) {
    Result<Registry> made = make_builtin_registry();
    if (!made.ok()) return;
    registry_.emplace(*std::move(made));
  }
  Result<std::vector<Tensor>> values =
      evaluate(*registry_, layer, inputs, default_allocator(), {max_output_bytes, max_steps});
  if (!values.ok()) return;  // ignored: the error is reported when the layer runs
  for (std::size_t i = 0; i < values->size() && i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor) folded_[layer.outputs[i]] = (*values)[i];
}

// --- the model -----------------------------------------------------------------------------------

Result<std::map<std::string, std::int64_t>> GraphImporter::read_opsets(
    const google::protobuf::RepeatedPtrField<OperatorSetIdProto>& opsets) const {
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
  graph_.name = graph.name();
  Scope scope;
  SN_ASSIGN_OR_RETURN(scope.opsets, read_opsets(model_.opset_import()));
  const auto main = scope.opsets.find("");
  if (main != scope.opsets.end()) report_.opset = main->second;
  for (const FunctionProto& function : model_.functions())
    functions_[{normal_domain(function.domain()), function.name(), function.overload()}] =
        &function;
  for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const ValueInfoProto& info : *list) scope.hints[info.name()] = &info.type();
  for (const ValueInfoProto& info : graph.input()) reserved_names_.insert(info.name());
  for (const TensorProto& tensor : graph.initializer()) reserved_names_.insert(tensor.name());
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) reserved_names_.insert(output);

  SN_RETURN_IF_ERROR(import_initializers(graph, scope));
  // Set free what was copied: weights would lie in memory twice.
  for (TensorProto& tensor : *model_.mutable_graph()->mutable_initializer())
    delete tensor.release_raw_data();
  SN_RETURN_IF_ERROR(import_inputs(scope));
  SN_RETURN_IF_ERROR(fix_input_shapes());
  SN_RETURN_IF_ERROR(import_nodes(graph.node(), scope));
  return import_outputs(scope);
}

Status GraphImporter::import_initializers(const GraphProto& graph, Scope& scope) {
  const auto add = [&](const std::string& name, const auto& proto) -> Status {
    if (name.empty()) return invalid_model("an initialiser has no name");
    if (scope.values.contains(name))
      return invalid_model("the initialiser '{}' is given twice", name);
    Result<Tensor> value = reader_.read(proto);
    if (value.ok()) {
      add_constant_value(scope, name, *std::move(value));
    } else if (value.status().code() == StatusCode::unsupported) {
      refused_[add_value(scope, name)] = value.status().message();
    } else {
      return Status(value.status()).with_context(fmt::format("initialiser '{}'", name));
    }
    return {};
  };
  for (const TensorProto& proto : graph.initializer()) SN_RETURN_IF_ERROR(add(proto.name(), proto));
  for (const SparseTensorProto& proto : graph.sparse_initializer())
    SN_RETURN_IF_ERROR(add(proto.values().name(), proto));
  return {};
}

Status GraphImporter::import_inputs(Scope& scope) {
  for (const ValueInfoProto& info : model_.graph().input()) {
    if (info.name().empty()) return invalid_model("a graph input has no name");
    // Before IR version 4 every initialiser had to be listed as an input as well.
    const auto known = scope.values.find(info.name());
    if (known != scope.values.end()) {
      if (graph_.is_input(known->second))
        return invalid_model("the graph input '{}' is given twice", info.name());
      continue;
    }
    const TensorId id = add_value(scope, info.name());
    graph_.inputs.push_back(id);
    Result<TensorDef> def = read_value_info(info.type());
    if (!def.ok()) {
      refused_[id] = def.status().message();
      taint(id);
      report_.unsupported.push_back({fmt::format("graph input '{}'", info.name()), "", "",
                                     report_.opset, "", def.status().message()});
      continue;
    }
    graph_.tensor(id).type = def->type;
    graph_.tensor(id).shape = def->shape;
  }
  return {};
}

Status GraphImporter::fix_input_shapes() {
  std::map<std::string, std::int64_t> symbols;
  for (const auto& [name, shape] : options_.shapes) {
    const TensorId id = graph_.find_tensor(name);
    if (id == kNoTensor || !graph_.is_input(id))
      return make_error(StatusCode::not_found, "the model has no input '{}' to give a shape to",
                        name);
    DynamicShape& declared = graph_.tensor(id).shape;
    bool fits = !declared.ranked() || declared.rank() == shape.rank();
    for (int i = 0; fits && declared.ranked() && i < shape.rank(); ++i) {
      fits = !declared[i].known() || declared[i].value == shape[i];
      if (declared[i].known() || declared[i].symbol.empty()) continue;
      const auto [known, is_new] = symbols.emplace(declared[i].symbol, shape[i]);
      if (!is_new && known->second != shape[i])
        return invalid_argument("the shapes given for the inputs say {} and {} for '{}'",
                                known->second, shape[i], declared[i].symbol);
    }
    if (!fits || shape.elements() < 0)
      return invalid_argument("input '{}' has the shape {}: {} does not fit", name, declared.str(),
                              shape.str());
    declared = DynamicShape(shape);
  }
  for (const TensorId id : graph_.inputs)
    for (Dim& dim : graph_.tensor(id).shape.dims())
      if (const auto known = symbols.find(dim.symbol); !dim.known() && known != symbols.end())
        dim = Dim(known->second);
  return {};
}

Status GraphImporter::import_outputs(Scope& scope) {
  if (model_.graph().output().empty()) return invalid_model("the graph has no outputs");
  std::unordered_set<TensorId> claimed(graph_.inputs.begin(), graph_.inputs.end());
  std::unordered_set<std::string_view> names;
  for (const ValueInfoProto& info : model_.graph().output()) {
    if (!names.insert(info.name()).second)
      return invalid_model("the graph output '{}' is given twice", info.name());
    const TensorId* found = scope.find(info.name());
    if (found == nullptr || *found == kNoTensor)
      return invalid_model("nothing gives the graph output '{}'", info.name());
    TensorId id = *found;
    const bool same_name = graph_.tensor(id).name == info.name();
    const bool passed_through = graph_.is_input(id) && same_name;
    if (passed_through || refused_.contains(id) || tainted(id)) {
      graph_.outputs.push_back(id);
      continue;
    }
    if (graph_.tensor(id).is_constant() || claimed.contains(id)) {
      // An output of its own: constants and inputs keep theirs, two outputs are two tensors.
      if (same_name) graph_.rename_tensor(id, unique_name(info.name() + "/value", true));
      TensorDef def;
      def.name = info.name();
      const TensorId copy = graph_.add_tensor(std::move(def));
      const LayerType* identity = types_.find("identity");
      if (identity == nullptr) return internal_error("there is no layer type 'identity'");
      const Layer& layer =
          graph_.add_layer(*identity, unique_layer_name(info.name() + "/output"), {id}, {copy});
      SN_RETURN_IF_ERROR(infer(layer));
      id = copy;
    } else if (!same_name) {
      graph_.rename_tensor(id, info.name());
    }
    claimed.insert(id);
    graph_.outputs.push_back(id);
  }
  return {};
}

// --- nodes ---------------------------------------------------------------------------------------

Status GraphImporter::import_nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                                   Scope& scope) {
  for (const int index : order_of(nodes)) {
    SN_RETURN_IF_ERROR(check_cancelled(options_.cancel));
    if (static_cast<std::int64_t>(++report_.nodes) > options_.max_nodes)
      return unsupported("the model has more than {} nodes, its functions expanded",
                         options_.max_nodes);
    SN_RETURN_IF_ERROR(import_node(nodes[index], index, scope));
  }
  return {};
}

void GraphImporter::give_up(const NodeProto& proto, const std::string& name, std::int64_t opset,
                            const std::vector<TensorId>& inputs, std::string reason, bool report,
                            Scope& scope) {
  if (report) {
    UnsupportedNode failure{name, proto.op_type(),  normal_domain(proto.domain()), opset,
                            "",   std::move(reason)};
    for (const TensorId id : inputs) {
      if (!failure.types.empty()) failure.types += ", ";
      failure.types += id == kNoTensor ? "none" : describe(graph_.tensor(id));
    }
    report_.unsupported.push_back(std::move(failure));
  }
  for (const std::string& output : proto.output()) {
    if (output.empty()) continue;
    const auto known = scope.values.find(output);
    const TensorId id = known != scope.values.end() ? known->second : add_value(scope, output);
    apply_hint(id, output, scope);
    taint(id);
  }
}

Status GraphImporter::import_node(const NodeProto& proto, int index, Scope& scope) {
  const std::string name =
      scope.prefix +
      (proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name());
  const std::string domain = normal_domain(proto.domain());
  std::vector<TensorId> inputs;
  bool taints = false;
  const std::string* refused = nullptr;
  for (const std::string& input : proto.input()) {
    if (input.empty()) {
      inputs.push_back(kNoTensor);
      continue;
    }
    const TensorId* id = scope.find(input);
    if (id == nullptr)
      return invalid_model("node '{}' ({}) uses '{}', which nothing before it gives", name,
                           proto.op_type(), input);
    inputs.push_back(*id);
    if (*id == kNoTensor) continue;
    taints = taints || tainted(*id);
    const auto it = refused_.find(*id);
    if (it != refused_.end()) refused = &it->second;
  }
  while (!inputs.empty() && inputs.back() == kNoTensor) inputs.pop_back();
  std::unordered_set<std::string_view> own;
  for (const std::string& output : proto.output())
    if (!output.empty() && (scope.values.contains(output) || !own.insert(output).second))
      return invalid_model("node '{}' ({}) gives '{}', which is given already", name,
                           proto.op_type(), output);

  const auto opset_entry = scope.opsets.find(domain);
  const std::int64_t opset = opset_entry == scope.opsets.end() ? 0 : opset_entry->second;
  const auto fail = [&](std::string reason, bool report = true) {
    give_up(proto, name, opset, inputs, std::move(reason), report, scope);
    return Status{};
  };
  if (refused != nullptr) return fail(*refused);

  const Operator* op = domain.empty() ? find_operator(proto.op_type(), opset) : nullptr;
  if (op == nullptr) {
    const auto function = functions_.find({domain, proto.op_type(), proto.overload()});
    if (function != functions_.end())
      return import_call(proto, *function->second, inputs, name, scope);
    if (!domain.empty())
      return fail(fmt::format("operators of the domain '{}' are not supported", domain));
    if (opset == 0) return invalid_model("the model does not say which operator set it uses");
    if (find_operator(proto.op_type(), kNewestOpset) != nullptr)
      return fail(fmt::format("this operator does not exist in operator set {}", opset));
    return fail("this operator is not known");
  }
  if (op->import == nullptr) return fail(std::string(op->detail));

  for (std::size_t i = 0; i < static_cast<std::size_t>(op->min_inputs); ++i)
    if (i >= inputs.size() || inputs[i] == kNoTensor)
      return fail(fmt::format("input {} is missing", i));
  if (op->max_inputs >= 0 && inputs.size() > static_cast<std::size_t>(op->max_inputs))
    return fail(
        fmt::format("{} inputs where at most {} are possible", inputs.size(), op->max_inputs));

  Node node(*this, scope, proto, name, *op, opset, inputs);
  op->import(node);
  if (!node.failed())
    for (const std::string& output : proto.output())
      if (!output.empty() && !scope.values.contains(output)) {
        node.refuse("its output '{}' is not supported", output);
        break;
      }
  if (node.failed()) {
    // Behind a node that was given up, only what the node itself says counts.
    const bool report =
        !taints || (node.status().code() == StatusCode::unsupported && !node.lacks_knowledge());
    return fail(node.status().message(), report);
  }
  for (const std::string& output : proto.output()) {
    if (output.empty()) continue;
    const TensorId id = scope.values.at(output);
    apply_hint(id, output, scope);
    if (taints) taint(id);
  }
  return {};
}

Status GraphImporter::import_call(const NodeProto& proto, const FunctionProto& function,
                                  const std::vector<TensorId>& inputs, const std::string& name,
                                  Scope& scope) {
  if (scope.depth >= kMaxCallDepth)
    return unsupported("node '{}': functions are nested more than {} deep, or call themselves",
                       name, kMaxCallDepth);
  if (inputs.size() > static_cast<std::size_t>(function.input_size()))
    return invalid_model("node '{}' gives {} inputs to the function '{}', which takes {}", name,
                         inputs.size(), function.name(), function.input_size());
  Scope inner;
  inner.depth = scope.depth + 1;
  inner.prefix = name + "/";
  SN_ASSIGN_OR_RETURN(inner.opsets, read_opsets(function.opset_import()));
  for (int i = 0; i < function.input_size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    inner.values[function.input(i)] = k < inputs.size() ? inputs[k] : kNoTensor;
  }
  for (const AttributeProto& attribute : function.attribute_proto())
    inner.attributes[attribute.name()] = &attribute;
  for (const AttributeProto& attribute : proto.attribute()) {
    const AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto it = scope.attributes.find(attribute.ref_attr_name());
      if (it == scope.attributes.end()) continue;
      value = it->second;
    }
    inner.attributes[attribute.name()] = value;
  }
  SN_RETURN_IF_ERROR(import_nodes(function.node(), inner));
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    const TensorId* id = i < function.output_size() ? inner.find(function.output(i)) : nullptr;
    if (id == nullptr || *id == kNoTensor)
      return invalid_model("the function '{}' does not give output {} of node '{}'",
                           function.name(), i, name);
    scope.values[proto.output(i)] = *id;
  }
  return {};
}

Status GraphImporter::import_branch(const GraphProto& branch, const NodeProto& node,
                                    const std::string& name, Scope& scope) {
  if (scope.depth >= kMaxCallDepth)
    return unsupported("branches are nested more than {} deep", kMaxCallDepth);
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.attributes = scope.attributes;
  inner.depth = scope.depth + 1;
  inner.prefix = name + "/";
  for (const ValueInfoProto& info : branch.value_info()) inner.hints[info.name()] = &info.type();
  SN_RETURN_IF_ERROR(import_initializers(branch, inner));
  SN_RETURN_IF_ERROR(import_nodes(branch.node(), inner));
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const TensorId* id = i < branch.output_size() ? inner.find(branch.output(i).name()) : nullptr;
    if (id == nullptr || *id == kNoTensor)
      return invalid_model("the branch '{}' does not give output {}", branch.name(), i);
    scope.values[node.output(i)] = *id;
  }
  return {};
}

Status GraphImporter::first_failure() const {
  if (report_.unsupported.empty()) return {};
  const UnsupportedNode& first = report_.unsupported.front();
  std::string message;
  if (first.op.empty())
    message = fmt::format("{}: {}", first.node, first.reason);
  else
    message = fmt::format("node '{}' ({}{}{}, operator set {}; inputs {}): {}", first.node,
                          first.domain, first.domain.empty() ? "" : "::", first.op, first.opset,
                          first.types.empty() ? "none" : first.types, first.reason);
  if (report_.unsupported.size() > 1)
    message += fmt::format("; {} more nodes cannot be imported (import --check lists them all)",
                           report_.unsupported.size() - 1);
  return Status(StatusCode::unsupported, message);
}

}  // namespace softneuro::onnx
