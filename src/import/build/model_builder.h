// ModelBuilder: what every importer does around the operators of its format.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/build/graph_builder.h"
#include "import/build/layer_emitter.h"
#include "softneuro/net.h"

namespace softneuro::build {

// A model, and what the user says of it.
struct ModelSource {
  std::span<const std::byte> bytes;
  std::string folder;  // where files beside the model are; empty: there are none
  const ImportOptions& options;
  Allocator& allocator;  // for weights
  // After the model's own functions are expanded: a small file may claim billions.
  std::int64_t max_nodes = 1'000'000;
};

// An input as the model declares it; the error if it is no tensor of a type that exists here.
struct ModelInput {
  std::string name;
  Result<TensorDef> declared;
};

// A node that cannot be imported, and why.
struct UnsupportedNode {
  std::string node;                   // its name, or the name that stands for it if it has none
  std::string op;                     // "Conv"
  std::string domain;                 // empty: the default domain
  std::optional<std::int64_t> opset;  // of that domain, as the model says
  std::string types;                  // of its inputs: "float32[1x3x224x224], int64[?]"
  std::string reason;
};

// What `softneuro import --check` shows.
struct ImportReport {
  std::int64_t version = 0;           // of the format: of ONNX, the IR version
  std::optional<std::int64_t> opset;  // of the default domain, in formats that have operator sets
  std::string producer;
  std::size_t nodes = 0;
  std::vector<UnsupportedNode> unsupported;  // empty: the model can be imported
};

// Builds the graph, and notes every node that cannot be imported. In this order: constants, inputs,
// nodes, outputs. Errors are of models that are broken, so that going on would mean nothing.
class ModelBuilder {
 public:
  explicit ModelBuilder(const ModelSource& source) : source_(source) {}

  const ModelSource& source() const { return source_; }
  GraphBuilder& builder() { return builder_; }
  ImportReport& report() { return report_; }

  // A value of a type that does not exist here: what uses it is given up for this reason.
  TensorId add_refused(ValueScope& scope, const std::string& name, std::string reason);
  // All inputs of the main graph. The user's constants take the place of inputs, and the user's
  // shapes are filled in. Names that have a value already are constants of the model: left out.
  Status add_inputs(ValueScope& scope, const std::vector<ModelInput>& inputs);
  // All outputs of the main graph. One value may have two names, or be a constant or an input.
  Status add_outputs(const ValueScope& scope, const std::vector<std::string>& names);

  // Looks up the inputs of the node. False: one is of a type that does not exist here, and the node
  // is given up.
  Result<bool> begin(ModelNode& node);
  // The node was turned into layers, or failed: then it is given up. Each of its outputs is defined
  // afterwards.
  void end(LayerEmitter& emitter);
  // Notes the reason, and defines what the node should have given, so that those behind it can be
  // checked.
  void give_up(const ModelNode& node, const std::string& reason);
  // Fills in what the model says of a tensor, where it is not known.
  void declare(TensorId id, const TensorDef& declared);

  // The graph once everything is added: verified and sorted; its tensors' types and shapes are
  // filled in as far as they are known without running anything. unsupported names the first node
  // that cannot be imported and counts the others.
  Result<Graph> take_graph();

 private:
  // Defines the outputs that are not, and marks all: what comes of them may fail for no fault of
  // its own.
  void taint_outputs(const ModelNode& node);

  const ModelSource& source_;
  GraphBuilder builder_;
  ImportReport report_;
  std::unordered_set<TensorId> tainted_;  // come from a node that could not be imported
  std::unordered_map<TensorId, std::string> refused_;  // values of types that do not exist here
};

}  // namespace softneuro::build
