// The graph that an import builds, and what is known of its tensors on the way.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/shape_values.h"
#include "core/routine/registry.h"

namespace softneuro::build {

// The values that a list of nodes sees, by name: those of the main graph, or of one call of a
// function.
struct ValueScope {
  const ValueScope* parent = nullptr;  // a branch sees the graph around it; a function sees nothing
  std::unordered_map<std::string, TensorId> values;
  std::string prefix;  // before the names of a function's nodes and values
  int depth = 0;       // 0: the main graph

  // Null if nothing defined the name.
  const TensorId* find(const std::string& value) const;
};

// An integer type of 2 or 4 bits. Its numbers are kept in int8 or uint8.
struct NarrowType {
  std::string_view name;                // the format's
  DataType type = DataType::undefined;  // that the numbers are kept in
  int bits = 0;

  bool is_signed() const { return type == DataType::int8; }
  int lowest() const { return is_signed() ? -(1 << (bits - 1)) : 0; }
  int highest() const { return lowest() + (1 << bits) - 1; }
  bool operator==(const NarrowType&) const = default;
};

// Names that are given once.
struct Names {
  std::unordered_set<std::string> taken;
  std::unordered_set<std::string> reserved;
  std::unordered_map<std::string, int> next_suffix;

  // `base`, with a suffix if it is taken, or reserved for others.
  std::string take(const std::string& base, bool may_be_reserved = false);
};

class GraphBuilder {
 public:
  Graph& graph() { return graph_; }
  // Keeps the name of a value of the main graph free for it.
  void reserve(const std::string& name) { tensor_names_.reserved.insert(name); }
  // A new tensor for a value of the model, with these bytes if it is constant; its name stays the
  // model's in the main graph.
  TensorId add_value(ValueScope& scope, const std::string& name, const Tensor& constant = {});
  // A new tensor that the model does not name, with these bytes if it is constant.
  TensorId add_temporary(const std::string& name, const Tensor& constant = {});
  // A copy of the tensor, which alone has this name.
  Result<TensorId> add_copy(TensorId id, const std::string& name);
  // Fills in types and shapes of the outputs. `sources`: nodes of the model.
  Status add_layer(std::string_view type, const std::string& name, std::vector<TensorId> inputs,
                   std::vector<TensorId> outputs, Params params = {},
                   std::vector<std::string> sources = {});
  // The value of a tensor that is a constant, that follows from shapes alone, or that is small and
  // was computed from such values; else null.
  const Tensor* value(TensorId id);
  // The narrow type that the model gives a tensor; nothing if it is of another one.
  std::optional<NarrowType> narrow(TensorId id) const;
  void set_narrow(TensorId id, const NarrowType& type) { narrow_.insert_or_assign(id, type); }

 private:
  TensorId add(std::string name, const Tensor& constant);
  Status infer(const Layer& layer);
  // Outputs get the narrow types of inputs whose elements they hold. unsupported where a layer
  // would compute in a narrow type.
  Status pass_on_narrow(const Layer& layer);
  // Computes the layer's outputs if that is cheap and everything for it is known.
  void fold(const Layer& layer);

  Graph graph_;
  ShapeValues shape_values_{graph_};
  std::unordered_map<TensorId, Tensor> folded_;
  std::unordered_map<TensorId, NarrowType> narrow_;
  std::optional<Registry> registry_;  // for folding; made when needed
  Names tensor_names_, layer_names_;
};

}  // namespace softneuro::build
