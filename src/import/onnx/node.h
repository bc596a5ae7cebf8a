// Node: one node of the model while its handler turns it into layers.
//
// Errors stick: the first one is kept, later calls do nothing harmful and give fallbacks, so that
// handlers read like descriptions and the importer asks once, after the handler, how it went.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/operators.h"

namespace softneuro::onnx {

class GraphImporter;
struct Scope;

// Parameters of a layer, written as {{"axis", 1}, {"mode", "linear"}}.
struct LayerParams : Params {
  LayerParams() = default;
  LayerParams(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) set(entry.name, entry.value);
  }
};

class Node {
 public:
  Node(GraphImporter& importer, Scope& scope, const NodeProto& proto, std::string name,
       const Operator& op, std::int64_t opset, std::vector<TensorId> inputs);

  const std::string& name() const { return name_; }
  const std::string& op() const { return proto_.op_type(); }
  std::int64_t opset() const { return opset_; }
  std::string_view detail() const { return operator_.detail; }

  // --- inputs and outputs ----------------------------------------------------------------------
  std::size_t input_count() const {
    return inputs_.size();
  }  // left-out ones at the end not counted
  bool has_input(std::size_t i) const { return input(i) != kNoTensor; }
  TensorId input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoTensor; }
  const std::vector<TensorId>& inputs() const { return inputs_; }
  std::size_t output_count() const;
  bool wants_output(std::size_t i) const;

  // --- what is known of a tensor -----------------------------------------------------------------
  const TensorDef& tensor(TensorId id) const;
  DataType type(TensorId id) const;  // undefined for kNoTensor
  const DynamicShape& shape(TensorId id) const { return tensor(id).shape; }
  int rank(TensorId id) const;  // −1: unknown
  // As above, but not knowing is an error.
  int need_rank(TensorId id);
  std::int64_t dim(TensorId id, int axis) const;  // −1: unknown
  std::int64_t need_dim(TensorId id, int axis);
  // The tensor is a constant of the model.
  bool is_constant(TensorId id) const { return tensor(id).is_constant(); }
  // The value if the tensor is a constant or follows from shapes alone; else null.
  const Tensor* value(TensorId id) const;
  // The integers of such a value of an integer type.
  std::optional<std::vector<std::int64_t>> integers(TensorId id) const;
  // The number in such a value of one element.
  std::optional<double> number(TensorId id) const;

  // --- attributes (left out: the fallback; of another kind: an error) --------------------------
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<std::int64_t> integers(std::string_view name);
  std::vector<double> reals(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::int64_t required_integer(std::string_view name);
  std::vector<std::int64_t> required_integers(std::string_view name);
  Tensor tensor_attribute(std::string_view name);  // empty on error
  // The data type that an attribute names by number; fails for unknown ones.
  DataType data_type(std::string_view name, std::int64_t fallback);
  const AttributeProto* find(std::string_view name) const;
  // As text(), which must be one of `allowed`.
  std::string choice(std::string_view name, std::string_view fallback,
                     std::initializer_list<std::string_view> allowed);

  // --- building --------------------------------------------------------------------------------
  TensorId constant(Tensor value, std::string_view suffix = "constant");
  TensorId integers_constant(std::span<const std::int64_t> values);  // int64 [n]
  TensorId integers_constant(std::initializer_list<std::int64_t> values) {
    return integers_constant(std::span<const std::int64_t>(values.begin(), values.size()));
  }
  TensorId integer_constant(std::int64_t value);  // int64 scalar
  // A scalar of `type`; rounds as from_double does.
  TensorId number_constant(double value, DataType type);
  // A layer with one output that only this node sees.
  TensorId emit(std::string_view type, std::vector<TensorId> inputs,
                const LayerParams& params = {});
  // A layer with `count` such outputs.
  std::vector<TensorId> emit_all(std::string_view type, std::vector<TensorId> inputs,
                                 const LayerParams& params, std::size_t count);
  // A layer whose outputs are the node's.
  void finish(std::string_view type, std::vector<TensorId> inputs, const LayerParams& params = {});
  // A layer whose output 0 is the node's output i.
  void finish_output(std::size_t i, std::string_view type, std::vector<TensorId> inputs,
                     const LayerParams& params = {});
  // The node's output i is this tensor.
  void define(std::size_t i, TensorId id);
  // The node's output i is this constant.
  void define_constant(std::size_t i, Tensor value);
  // Casts unless the type is that already.
  TensorId cast(TensorId id, DataType type);
  // Puts dimensions of 1 at these places of the result's shape.
  TensorId unsqueeze(TensorId id, std::span<const std::int64_t> axes);
  TensorId unsqueeze(TensorId id, std::initializer_list<std::int64_t> axes) {
    return unsqueeze(id, std::span<const std::int64_t>(axes.begin(), axes.size()));
  }
  TensorId binary(std::string_view op, TensorId a, TensorId b) {
    return emit("binary", {a, b}, {{"op", std::string(op)}});
  }
  TensorId unary(std::string_view op, TensorId x, double alpha = 0, double beta = 0) {
    return emit("unary", {x}, {{"op", std::string(op)}, {"alpha", alpha}, {"beta", beta}});
  }

  // --- errors ----------------------------------------------------------------------------------
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  void fail(Status status);
  template <class... A>
  void refuse(fmt::format_string<A...> format, A&&... args) {
    fail(unsupported(format, std::forward<A>(args)...));
  }
  template <class... A>
  void reject(fmt::format_string<A...> format, A&&... args) {
    fail(invalid_model(format, std::forward<A>(args)...));
  }
  // The failure is for want of knowledge about an input, not for what the node is.
  bool lacks_knowledge() const { return lacks_knowledge_; }

  // The node becomes what this branch of it holds.
  void become(const GraphProto& branch);
  GraphImporter& importer() { return importer_; }

 private:
  const AttributeProto* expect(std::string_view name, std::int32_t kind);
  void fail_for_knowledge(Status status);
  std::vector<TensorId> add_layer(std::string_view type, std::vector<TensorId> inputs,
                                  const LayerParams& params, std::vector<TensorId> outputs,
                                  const std::string& layer_name);

  GraphImporter& importer_;
  Scope& scope_;
  const NodeProto& proto_;
  std::string name_;
  const Operator& operator_;
  std::int64_t opset_;
  std::vector<TensorId> inputs_;
  Status status_;
  bool lacks_knowledge_ = false;
};

// The handler of operators that are a layer of the type `detail` with the same inputs.
void import_layer(Node& node);
// begin, …, end − 1.
std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end);

}  // namespace softneuro::onnx
