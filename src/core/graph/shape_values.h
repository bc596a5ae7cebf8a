// ShapeValues: values of small integer tensors that hold shapes, known without running a routine.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/layer_type.h"

namespace softneuro {

// A tensor of rank 0 or 1 (then `elements` is as long as its only dimension).
struct ShapeValue {
  // Longer tensors are data, not shapes.
  static constexpr std::int64_t kMaxElements = 256;

  int rank = 1;
  std::vector<KnownInteger> elements;

  bool complete() const;
};

class ShapeValues;

// What is known of a layer, for LayerType::known_values. `i` counts the layer inputs.
class SN_INTREE KnownInputs {
 public:
  KnownInputs(ShapeValues& values, const Graph& graph, const Layer& layer)
      : values_(values), graph_(graph), layer_(layer) {}

  const Params& params() const { return layer_.params; }
  std::size_t count() const { return layer_.layer_inputs; }
  bool has(std::size_t i) const { return i < count() && layer_.inputs[i] != kNoTensor; }
  // Precondition: has(i).
  const DynamicShape& shape(std::size_t i) const { return graph_.tensor(layer_.inputs[i]).shape; }
  const DynamicShape& output_shape() const { return graph_.tensor(layer_.outputs[0]).shape; }
  // Null if nothing is known, or the input is left out.
  const ShapeValue* value(std::size_t i) const;
  // The integers of an input of which all are known; nothing otherwise.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

 private:
  ShapeValues& values_;
  const Graph& graph_;
  const Layer& layer_;
};

// LayerType::known_values where output 0 has input 0's elements. Those that its data type cannot
// hold are found by who asks: ShapeValues.
std::optional<ShapeValue> same_values(const KnownInputs& inputs);

// Follows what models do to shapes: shape, gather, slice, concat, squeeze, unsqueeze, reshape,
// cast, binary arithmetic… Feed it the layers in topological order, after their shapes are known.
class SN_INTREE ShapeValues {
 public:
  explicit ShapeValues(const Graph& graph) : graph_(graph) {}
  // Finds out what is known of the outputs of `layer`.
  void visit(const Layer& layer);
  // What is known of a tensor; null if nothing.
  const ShapeValue* find(TensorId id);
  // The tensor as bytes, of its own data type, if all elements are known; else null.
  const Tensor* tensor(TensorId id);

 private:
  struct Known {
    ShapeValue value;
    Tensor bytes;  // made when asked for
  };

  const Graph& graph_;
  std::unordered_map<TensorId, Known> known_;
};

}  // namespace softneuro
