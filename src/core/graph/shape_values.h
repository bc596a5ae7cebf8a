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
  int rank = 1;
  std::vector<KnownInteger> elements;

  bool complete() const;
};

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
  std::optional<ShapeValue> evaluate(const Layer& layer);
  std::optional<ShapeValue> gather(const Layer& layer);
  std::optional<ShapeValue> slice(const Layer& layer);
  std::optional<ShapeValue> concat(const Layer& layer);
  std::optional<ShapeValue> reshape(const Layer& layer);
  std::optional<ShapeValue> binary(const Layer& layer);
  std::optional<ShapeValue> where(const Layer& layer);
  const ShapeValue* input(const Layer& layer, std::size_t i);
  // The integers of input i if all are known; nothing otherwise.
  std::optional<std::vector<std::int64_t>> integers(const Layer& layer, std::size_t i);

  const Graph& graph_;
  std::unordered_map<TensorId, Known> known_;
};

}  // namespace softneuro
