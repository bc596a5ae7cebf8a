// Walks over a model and lets the operators' handlers build the graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/shape_values.h"
#include "core/routine/registry.h"
#include "import/onnx/node.h"
#include "import/onnx/onnx_import.h"
#include "import/onnx/tensor_reader.h"

namespace softneuro::onnx {

// The names that a list of nodes sees: those of the main graph, or of one call of a function.
struct Scope {
  const Scope* parent = nullptr;  // a branch sees the graph around it; a function sees nothing
  std::unordered_map<std::string, TensorId> values;
  std::map<std::string, std::int64_t> opsets;  // by domain; the default one is ""
  std::unordered_map<std::string, const AttributeProto*> attributes;  // of the call
  std::unordered_map<std::string, const TypeProto*> hints;  // what the model says about its values
  std::string prefix;  // before the names of a function's nodes and values
  int depth = 0;

  // Null if nothing defined the name.
  const TensorId* find(const std::string& value) const;
};

class GraphImporter {
 public:
  // Takes the tensors' bytes out of `model` as it reads them.
  GraphImporter(ModelProto& model, std::string base_folder, const OnnxImportOptions& options);

  // Builds the graph and notes every node that cannot be imported. Fails where the model itself
  // is broken, so that going on would mean nothing.
  Status run();

  Graph& graph() { return graph_; }
  OnnxReport& report() { return report_; }
  // What import fails with if the report lists anything: the first, and how many more.
  Status first_failure() const;

  // --- for Node --------------------------------------------------------------------------------
  const LayerTypes& types() const { return types_; }
  TensorReader& reader() { return reader_; }
  // A new tensor for a value of the model; its name stays the model's in the main graph.
  TensorId add_value(Scope& scope, const std::string& name);
  TensorId add_constant_value(Scope& scope, const std::string& name, Tensor value);
  // A new tensor that the model does not name.
  TensorId add_temporary(const std::string& name);
  // A constant that the model does not name.
  TensorId add_constant(const std::string& name, Tensor value);
  std::string unique_layer_name(const std::string& base);
  // Fills in types and shapes of the layer's outputs.
  Status infer(const Layer& layer);
  // The value of a tensor that is a constant, that follows from shapes alone, or that is small and
  // was computed from such values; else null.
  const Tensor* known_value(TensorId id);
  bool tainted(TensorId id) const { return id < tainted_.size() && tainted_[id]; }
  // Imports a list of nodes.
  Status import_nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope);
  // Imports a branch in place of `node`, whose outputs it gives.
  Status import_branch(const GraphProto& branch, const NodeProto& node, const std::string& name,
                       Scope& scope);

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  Status check_header();
  Result<std::map<std::string, std::int64_t>> read_opsets(
      const google::protobuf::RepeatedPtrField<OperatorSetIdProto>& opsets) const;
  Status import_initializers(const GraphProto& graph, Scope& scope);
  Status import_inputs(Scope& scope);
  // Fills in the sizes that the options give.
  Status fix_input_shapes();
  Status import_outputs(Scope& scope);
  Status import_node(const NodeProto& proto, int index, Scope& scope);
  Status import_call(const NodeProto& proto, const FunctionProto& function,
                     const std::vector<TensorId>& inputs, const std::string& name, Scope& scope);
  // Defines what a failed node should have given, so that the nodes behind it can be checked.
  void give_up(const NodeProto& proto, const std::string& name, std::int64_t opset,
               const std::vector<TensorId>& inputs, std::string reason, bool report, Scope& scope);
  void taint(TensorId id);
  // Computes the layer's outputs if that is cheap and everything for it is known.
  void fold(const Layer& layer);
  void apply_hint(TensorId id, const std::string& name, const Scope& scope);
  std::string unique_name(const std::string& base, bool reserved_too);

  ModelProto& model_;
  const OnnxImportOptions& options_;
  const LayerTypes& types_;
  TensorReader reader_;
  Graph graph_;
  ShapeValues shape_values_{graph_};
  std::unordered_map<TensorId, Tensor> folded_;
  std::optional<Registry> registry_;  // for folding; made when needed
  OnnxReport report_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_set<std::string> reserved_names_;  // of the main graph's values
  std::unordered_set<std::string> tensor_names_;
  std::unordered_set<std::string> layer_names_;
  std::unordered_map<std::string, int> next_suffix_;
  std::unordered_map<std::string, int> next_layer_suffix_;
  std::vector<bool> tainted_;  // by TensorId: comes from a node that could not be imported
  std::unordered_map<TensorId, std::string> refused_;  // values of types that do not exist here
};

// Reads type and shape of a graph input; unsupported if it is no tensor of a known type.
Result<TensorDef> read_value_info(const TypeProto& type);

}  // namespace softneuro::onnx
