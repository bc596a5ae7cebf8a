// LayerEmitter: one node of a model while it is turned into layers.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/build/failure.h"
#include "import/build/tensor_facts.h"

namespace softneuro::build {

// Parameters of a layer, written as {{"axis", 1}, {"mode", "linear"}}.
struct LayerParams : Params {
  LayerParams() = default;
  LayerParams(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) set(entry.name, entry.value);
  }
};

// A node of a model as the walk over the model finds it.
struct ModelNode {
  ValueScope& scope;  // its inputs are found there, its outputs defined
  std::string name;
  std::string op;                              // the format's name of the operator
  std::string domain;                          // of the operator; empty: that of the format
  std::optional<std::int64_t> opset;           // of that domain, in formats that have operator sets
  std::vector<std::string> input_names = {};   // empty ones are left out
  std::vector<std::string> output_names = {};  // empty ones are left out
  // Filled in by ModelBuilder::begin, without left-out ones at the end.
  std::vector<TensorId> inputs = {};
};

class LayerEmitter : public Failure, public TensorFacts {
 public:
  // Both must outlive it.
  LayerEmitter(GraphBuilder& builder, const ModelNode& node) : TensorFacts(builder), node_(node) {}

  const ModelNode& node() const { return node_; }

  // --- inputs and outputs ----------------------------------------------------------------------
  const std::vector<TensorId>& inputs() const { return node_.inputs; }
  TensorId input(std::size_t i) const { return i < inputs().size() ? inputs()[i] : kNoTensor; }
  bool has_input(std::size_t i) const { return input(i) != kNoTensor; }
  std::size_t output_count() const;
  bool wants_output(std::size_t i) const;
  // Refuses a node without its first `min` inputs, or with more than `max`; −1: any number.
  void expect_inputs(int min, int max);
  // As rank() and dim(), but not knowing is an error.
  int need_rank(TensorId id);
  std::int64_t need_dim(TensorId id, int axis);

  // --- building --------------------------------------------------------------------------------
  TensorId constant(const Tensor& value, std::string_view suffix = "constant");
  // A layer with one output that only this node sees.
  TensorId emit(std::string_view type, std::vector<TensorId> inputs,
                const LayerParams& params = {});
  // A layer whose outputs are the node's.
  void finish(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params = {});
  // A layer whose output 0 is the node's output i.
  void finish_output(std::size_t i, std::string_view type, std::vector<TensorId> inputs,
                     const LayerParams& params = {});
  // The node's output i is this tensor.
  void define(std::size_t i, TensorId id);
  // The node's output i is this constant.
  void define_constant(std::size_t i, const Tensor& value);
  // The model gives output 0, which is defined, this type.
  void set_narrow_output(const NarrowType& type);

 private:
  void add_layer(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params,
                 std::vector<TensorId> outputs, const std::string& name);

  const ModelNode& node_;
};

// --- parts of handlers ---------------------------------------------------------------------------
TensorId integers_constant(LayerEmitter& node, const std::vector<std::int64_t>& values);  // [n]
TensorId integer_constant(LayerEmitter& node, std::int64_t value);  // int64 scalar
// A scalar of `type`; rounds as from_double does.
TensorId number_constant(LayerEmitter& node, double value, DataType type);
// Casts unless the type is that already.
TensorId cast(LayerEmitter& node, TensorId id, DataType type);
// Puts dimensions of 1 at these places of the result's shape.
TensorId unsqueeze(LayerEmitter& node, TensorId id, const std::vector<std::int64_t>& axes);
TensorId binary(LayerEmitter& node, std::string_view op, TensorId a, TensorId b);
TensorId unary(LayerEmitter& node, std::string_view op, TensorId x, double alpha = 0,
               double beta = 0);
// x − zero_point in int32, where the zero point is unsqueezed.
TensorId less_zero_point(LayerEmitter& node, TensorId x, TensorId zero_point,
                         const std::vector<std::int64_t>& axes = {});
// begin, …, end − 1.
std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end);

}  // namespace softneuro::build
