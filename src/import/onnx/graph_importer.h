// Walks over a model and lets the operators' handlers build the graph.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "import/build/model_builder.h"
#include "import/onnx/node.h"
#include "import/onnx/tensor_reader.h"

namespace softneuro::onnx {

class GraphImporter {
 public:
  // Takes the tensors' bytes out of `proto` as it reads them.
  GraphImporter(ModelProto& proto, build::ModelBuilder& model)
      : proto_(proto), model_(model), reader_(model.source().folder, model.source().allocator) {}

  // Builds the graph and notes every node that cannot be imported. Fails where the model itself
  // is broken, so that going on would mean nothing.
  Status run();

  build::GraphBuilder& builder() { return model_.builder(); }
  TensorReader& reader() { return reader_; }
  // Imports a branch in place of `node`, whose outputs it gives.
  Status import_branch(const GraphProto& branch, const FoundNode& node);

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload
  using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

  Status check_header();
  Status import_initializers(const GraphProto& graph, Scope& scope);
  Status import_nodes(const Nodes& nodes, Scope& scope);
  Status import_node(const NodeProto& proto, int index, Scope& scope);
  void import_operator(const FoundNode& found, const Operator& op);
  Status import_call(const FoundNode& found, const FunctionProto& function);
  void apply_hints(const FoundNode& found);
  Status give_up(const FoundNode& found, const std::string& reason);

  ModelProto& proto_;
  build::ModelBuilder& model_;
  TensorReader reader_;
  std::map<FunctionKey, const FunctionProto*> functions_;
};

}  // namespace softneuro::onnx
