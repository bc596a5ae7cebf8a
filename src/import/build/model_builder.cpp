#include "import/build/model_builder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "import/build/given_inputs.h"

namespace softneuro::build {
namespace {

std::string describe(const TensorDef& def) {
  if (def.type == DataType::undefined) return "unknown";
  return fmt::format("{}[{}]", to_string(def.type), def.shape.str());
}

// Each constant must be for one of the inputs.
Status check_constants(const NamedTensors& constants, const std::vector<std::string>& inputs) {
  for (const auto& given : constants)
    if (std::ranges::find(inputs, given.first) == inputs.end())
      return make_error(StatusCode::not_found,
                        "the model has no input '{}' to give a constant to; its inputs are '{}'",
                        given.first, fmt::join(inputs, "', '"));
  return {};
}

// What an import fails with: the first that is unsupported, and how many more.
Status failure(const std::vector<UnsupportedNode>& unsupported) {
  const UnsupportedNode& first = unsupported.front();
  std::string message;
  if (first.op.empty())
    message = fmt::format("{}: {}", first.node, first.reason);
  else
    message = fmt::format("node '{}' ({}{}{}{}; inputs {}): {}", first.node, first.domain,
                          first.domain.empty() ? "" : "::", first.op,
                          first.opset ? fmt::format(", operator set {}", *first.opset) : "",
                          first.types.empty() ? "none" : first.types, first.reason);
  if (unsupported.size() > 1)
    message +=
        fmt::format("; {} more inputs and nodes cannot be imported (import --check lists them all)",
                    unsupported.size() - 1);
  return Status(StatusCode::unsupported, message);
}

}  // namespace

// --- inputs and outputs --------------------------------------------------------------------------

TensorId ModelBuilder::add_refused(ValueScope& scope, const std::string& name, std::string reason) {
  const TensorId id = builder_.add_value(scope, name);
  refused_[id] = std::move(reason);
  return id;
}

Status ModelBuilder::add_inputs(ValueScope& scope, const std::vector<ModelInput>& inputs) {
  Graph& graph = builder_.graph();
  const NamedTensors& constants = source_.options.constants;
  std::vector<std::string> names;
  for (const ModelInput& input : inputs)
    if (!scope.values.contains(input.name)) names.push_back(input.name);
  SN_RETURN_IF_ERROR(check_constants(constants, names));
  for (const auto& [name, declared] : inputs) {
    if (name.empty()) return invalid_model("a graph input has no name");
    if (const auto known = scope.values.find(name); known != scope.values.end()) {
      if (graph.is_input(known->second))
        return invalid_model("the graph input '{}' is given twice", name);
      continue;
    }
    if (const auto given = constants.find(name); given != constants.end() && declared.ok()) {
      SN_ASSIGN_OR_RETURN(const Tensor value,
                          constant_as(name, given->second, *declared, source_.allocator));
      builder_.add_value(scope, name, value);
      continue;
    }
    if (!declared.ok()) {
      const std::string& reason = declared.status().message();
      const TensorId id = add_refused(scope, name, reason);
      graph.inputs.push_back(id);
      tainted_.insert(id);
      report_.unsupported.push_back(
          {fmt::format("graph input '{}'", name), "", "", report_.opset, "", reason});
      continue;
    }
    const TensorId id = builder_.add_value(scope, name);
    graph.inputs.push_back(id);
    graph.tensor(id).type = declared->type;
    graph.tensor(id).shape = declared->shape;
  }
  return fix_input_shapes(graph, source_.options.shapes);
}

Status ModelBuilder::add_outputs(const ValueScope& scope, const std::vector<std::string>& names) {
  if (names.empty()) return invalid_model("the graph has no outputs");
  Graph& graph = builder_.graph();
  std::unordered_set<TensorId> claimed(graph.inputs.begin(), graph.inputs.end());
  std::unordered_set<std::string_view> given;
  for (const std::string& name : names) {
    if (!given.insert(name).second)
      return invalid_model("the graph output '{}' is given twice", name);
    const TensorId* found = scope.find(name);
    if (found == nullptr || *found == kNoTensor)
      return invalid_model("nothing gives the graph output '{}'", name);
    TensorId id = *found;
    const bool same_name = graph.tensor(id).name == name;
    const bool passed_through = graph.is_input(id) && same_name;
    if (passed_through || refused_.contains(id) || tainted_.contains(id)) {
      graph.outputs.push_back(id);
      continue;
    }
    if (graph.tensor(id).is_constant() || claimed.contains(id)) {
      // An output of its own: constants and inputs keep theirs, two outputs are two tensors.
      SN_ASSIGN_OR_RETURN(id, builder_.add_copy(id, name));
    } else if (!same_name) {
      graph.rename_tensor(id, name);
    }
    claimed.insert(id);
    graph.outputs.push_back(id);
  }
  return {};
}

// --- nodes ---------------------------------------------------------------------------------------

Result<bool> ModelBuilder::begin(ModelNode& node) {
  SN_RETURN_IF_ERROR(check_cancelled(source_.options.cancel));
  if (static_cast<std::int64_t>(++report_.nodes) > source_.max_nodes)
    return unsupported(
        "the model has more than {} nodes, its functions expanded, which is the most that is "
        "imported: split it into several models",
        source_.max_nodes);
  const std::string* refused = nullptr;
  for (const std::string& input : node.input_names) {
    const TensorId* id = input.empty() ? &kNoTensor : node.scope.find(input);
    if (id == nullptr)
      return invalid_model("node '{}' ({}) uses '{}', which nothing before it gives", node.name,
                           node.op, input);
    node.inputs.push_back(*id);
    if (const auto it = refused_.find(*id); it != refused_.end()) refused = &it->second;
  }
  while (!node.inputs.empty() && node.inputs.back() == kNoTensor) node.inputs.pop_back();
  std::unordered_set<std::string_view> names;
  for (const std::string& output : node.output_names)
    if (!output.empty() && (node.scope.values.contains(output) || !names.insert(output).second))
      return invalid_model("node '{}' ({}) gives '{}', which is given already", node.name, node.op,
                           output);
  if (refused != nullptr) give_up(node, *refused);
  return refused == nullptr;
}

void ModelBuilder::end(LayerEmitter& emitter) {
  const ModelNode& node = emitter.node();
  const bool taints =
      std::ranges::any_of(node.inputs, [&](TensorId id) { return tainted_.contains(id); });
  for (const std::string& output : node.output_names)
    if (!output.empty() && !node.scope.values.contains(output))
      emitter.refuse("its output '{}' is not supported", output);
  if (!emitter.failed()) {
    if (taints) taint_outputs(node);
    return;
  }
  // Behind a node that was given up, only what the node itself says counts.
  if (!taints || (emitter.status().code() == StatusCode::unsupported && !emitter.lacks_knowledge()))
    give_up(node, emitter.status().message());
  else
    taint_outputs(node);
}

void ModelBuilder::give_up(const ModelNode& node, const std::string& reason) {
  UnsupportedNode failure{node.name, node.op, node.domain, node.opset, "", reason};
  for (const TensorId id : node.inputs) {
    if (!failure.types.empty()) failure.types += ", ";
    failure.types += id == kNoTensor ? "none" : describe(builder_.graph().tensor(id));
  }
  report_.unsupported.push_back(std::move(failure));
  taint_outputs(node);
}

void ModelBuilder::taint_outputs(const ModelNode& node) {
  for (const std::string& output : node.output_names) {
    if (output.empty()) continue;
    const auto known = node.scope.values.find(output);
    tainted_.insert(known != node.scope.values.end() ? known->second
                                                     : builder_.add_value(node.scope, output));
  }
}

void ModelBuilder::declare(TensorId id, const TensorDef& declared) {
  TensorDef& def = builder_.graph().tensor(id);
  if (def.type == DataType::undefined) def.type = declared.type;
  if (!def.shape.ranked()) def.shape = declared.shape;
}

Result<Graph> ModelBuilder::take_graph() {
  if (!report_.unsupported.empty()) return failure(report_.unsupported);
  Graph graph = std::move(builder_.graph());
  SN_RETURN_IF_ERROR(graph.sort());
  graph.compact_tensors();
  SN_RETURN_IF_ERROR(graph.verify(builtin_layer_types()));
  SN_RETURN_IF_ERROR(graph.infer_shapes());
  return graph;
}

}  // namespace softneuro::build
