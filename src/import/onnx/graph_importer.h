// Walks over a model and lets the operators' handlers build the graph.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/onnx/graph_builder.h"
#include "import/onnx/node.h"
#include "import/onnx/onnx_import.h"
#include "import/onnx/tensor_reader.h"

namespace softneuro::onnx {

class GraphImporter {
 public:
  // Takes the tensors' bytes out of `model` as it reads them.
  GraphImporter(ModelProto& model, std::string base_folder, const OnnxImportOptions& options)
      : model_(model), options_(options), reader_(std::move(base_folder), options) {}

  // Builds the graph and notes every node that cannot be imported. Fails where the model itself
  // is broken, so that going on would mean nothing.
  Status run();

  GraphBuilder& builder() { return builder_; }
  TensorReader& reader() { return reader_; }
  OnnxReport& report() { return report_; }
  // Imports a branch in place of `node`, whose outputs it gives.
  Status import_branch(const GraphProto& branch, const FoundNode& node);

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload
  using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

  Status check_header();
  Status import_initializers(const GraphProto& graph, Scope& scope);
  Status import_inputs(Scope& scope);
  Status import_outputs(Scope& scope);
  Status import_nodes(const Nodes& nodes, Scope& scope);
  Status import_node(const NodeProto& proto, int index, Scope& scope);
  Status import_operator(const FoundNode& found, const Operator& op);
  Status import_call(const FoundNode& found, const FunctionProto& function);
  // Defines what a failed node should have given, so that the nodes behind it can be checked.
  Status give_up(const FoundNode& found, const std::string& reason, bool report = true);

  ModelProto& model_;
  const OnnxImportOptions& options_;
  TensorReader reader_;
  GraphBuilder builder_;
  OnnxReport report_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_set<TensorId> tainted_;  // come from a node that could not be imported
  std::unordered_map<TensorId, std::string> refused_;  // values of types that do not exist here
};

}  // namespace softneuro::onnx
