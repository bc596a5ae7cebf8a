// Node: one node of the model while its handler turns it into layers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/attributes.h"
#include "import/onnx/operators.h"

namespace softneuro::onnx {

class GraphImporter;

// Parameters of a layer, written as {{"axis", 1}, {"mode", "linear"}}.
struct LayerParams : Params {
  LayerParams() = default;
  LayerParams(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) set(entry.name, entry.value);
  }
};

// A node of the model as the walk over it finds it.
struct FoundNode {
  const NodeProto& proto;
  Scope& scope;
  std::string name;
  std::string domain;            // "": the default one
  std::int64_t opset = 0;        // of that domain
  std::vector<TensorId> inputs;  // without left-out ones at the end
};

// What is known of the graph's tensors. All of it may be asked of kNoTensor.
class TensorFacts {
 public:
  explicit TensorFacts(GraphBuilder& builder) : builder_(builder) {}

  const TensorDef& tensor(TensorId id) const;
  DataType type(TensorId id) const { return tensor(id).type; }  // undefined for kNoTensor
  const DynamicShape& shape(TensorId id) const { return tensor(id).shape; }
  int rank(TensorId id) const;                    // −1: unknown
  std::int64_t dim(TensorId id, int axis) const;  // −1: unknown
  // The type of 2 or 4 bits that the model gives the tensor; nothing if it is of another one.
  std::optional<NarrowType> narrow(TensorId id) const { return builder_.narrow(id); }
  // The tensor is a constant of the model.
  bool is_constant(TensorId id) const { return tensor(id).is_constant(); }
  // The value if the tensor is a constant or follows from shapes alone; else null.
  const Tensor* value(TensorId id) const;
  // The number in such a value of one element.
  std::optional<double> number(TensorId id) const;

 protected:
  GraphBuilder& builder_;
};

class Node : public Attributes, public TensorFacts {
 public:
  Node(GraphImporter& importer, const FoundNode& found, const Operator& op);

  const Operator& op() const { return operator_; }
  std::string_view detail() const { return operator_.detail; }
  std::int64_t opset() const { return found_.opset; }

  // --- inputs and outputs ----------------------------------------------------------------------
  const std::vector<TensorId>& inputs() const { return found_.inputs; }
  TensorId input(std::size_t i) const { return i < inputs().size() ? inputs()[i] : kNoTensor; }
  bool has_input(std::size_t i) const { return input(i) != kNoTensor; }
  std::size_t output_count() const;
  bool wants_output(std::size_t i) const;
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
  // The node becomes what this branch of it holds.
  void become(const GraphProto& branch);

 private:
  const std::string& output_name(std::size_t i) const;
  void add_layer(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params,
                 std::vector<TensorId> outputs, const std::string& name);

  GraphImporter& importer_;
  const FoundNode& found_;
  const Operator& operator_;
};

// --- parts of handlers ---------------------------------------------------------------------------
TensorId integers_constant(Node& node, const std::vector<std::int64_t>& values);  // int64 [n]
TensorId integer_constant(Node& node, std::int64_t value);                        // int64 scalar
// A scalar of `type`; rounds as from_double does.
TensorId number_constant(Node& node, double value, DataType type);
// Casts unless the type is that already.
TensorId cast(Node& node, TensorId id, DataType type);
// Puts dimensions of 1 at these places of the result's shape.
TensorId unsqueeze(Node& node, TensorId id, const std::vector<std::int64_t>& axes);
TensorId binary(Node& node, std::string_view op, TensorId a, TensorId b);
TensorId unary(Node& node, std::string_view op, TensorId x, double alpha = 0, double beta = 0);
// x − zero_point in int32, where the zero point is unsqueezed.
TensorId less_zero_point(Node& node, TensorId x, TensorId zero_point,
                         const std::vector<std::int64_t>& axes = {});
// begin, …, end − 1.
std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end);
std::string lower_case(std::string text);  // of ASCII letters

// `params`, and those that the operator's row of the table names.
LayerParams row_params(Node& node, LayerParams params = {});
// Ends a handler with a layer that has these parameters, and op = `detail`.
void finish_op(Node& node, std::string_view type, std::vector<TensorId> inputs);
// The handler of operators that are a layer of the type `detail` with the same inputs.
void import_layer(Node& node);

}  // namespace softneuro::onnx
