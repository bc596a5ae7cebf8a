// Graph::verify: the gate that every graph from a file passes before it is used.
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr int kMaxSubgraphDepth = 8;

class Verifier {
 public:
  Verifier(const Graph& graph, const LayerTypes& types, int depth)
      : graph_(graph), types_(types), depth_(depth) {}

  Status run() {
    if (graph_.tensor_count() >= kNoTensor || graph_.layers().size() >= INT32_MAX)
      return invalid_model("graph '{}': too many tensors or layers", graph_.name);
    defined_.assign(graph_.tensor_count(), false);
    SN_RETURN_IF_ERROR(check_tensors());
    SN_RETURN_IF_ERROR(check_inputs());
    SN_RETURN_IF_ERROR(check_layers());
    SN_RETURN_IF_ERROR(check_uses());
    SN_RETURN_IF_ERROR(check_outputs());
    return graph_.topological_order().status();
  }

 private:
  bool in_range(TensorId id) const { return id < graph_.tensor_count(); }

  // --- tensors -----------------------------------------------------------------------------------

  Status check_tensors() {
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < graph_.tensor_count(); ++i) {
      const TensorDef& def = graph_.tensor(static_cast<TensorId>(i));
      if (def.name.empty()) return invalid_model("tensor {} has no name", i);
      if (!names.insert(def.name).second)
        return invalid_model("two tensors are called '{}'", def.name);
      if (graph_.find_tensor(def.name) != i)
        return invalid_model("tensor '{}' is not in the index of names", def.name);
      Status status = check_shape(def);
      if (status.ok() && def.is_constant()) status = check_constant(def);
      if (status.ok() && def.quantization) status = check_quantization(def);
      if (!status.ok()) return std::move(status).with_context("tensor '" + def.name + "'");
      defined_[i] = def.is_constant();
    }
    return {};
  }

  Status check_shape(const TensorDef& def) const {
    if (static_cast<int>(def.type) >= kDataTypeCount)
      return invalid_model("data type number {} is unknown", static_cast<int>(def.type));
    if (!def.shape.ranked()) return {};
    if (!Shape::fits(def.shape.dims().size()))
      return invalid_model("rank {} is more than the {} that are supported", def.shape.rank(),
                           kMaxRank);
    for (const Dim& dim : def.shape.dims())
      if (dim.value < -1) return invalid_model("dimension {} is negative", dim.value);
    if (def.shape.is_static() &&
        storage_bytes(def.type == DataType::undefined ? DataType::int8 : def.type,
                      def.shape.to_shape(), Layout::plain) < 0)
      return invalid_model("shape {} has too many elements", def.shape.str());
    return {};
  }

  Status check_constant(const TensorDef& def) const {
    const Tensor& value = def.constant;
    if (value.data_type() != def.type)
      return invalid_model("declared as {}, but its constant is {}", to_string(def.type),
                           to_string(value.data_type()));
    if (value.layout() != Layout::plain)
      return invalid_model("its constant has layout {}, not plain", to_string(value.layout()));
    if (!def.shape.is_static() || !(def.shape.to_shape() == value.shape()))
      return invalid_model("declared with shape {}, but its constant has {}", def.shape.str(),
                           value.shape().str());
    const std::int64_t bytes = storage_bytes(def.type, value.shape(), Layout::plain);
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) != value.bytes())
      return invalid_model("a constant of shape {} needs {} bytes, but has {}", value.shape().str(),
                           bytes, value.bytes());
    if (bytes > 0 && value.data() == nullptr) return invalid_model("its constant has no bytes");
    return {};
  }

  Status check_quantization(const TensorDef& def) const {
    const Quantization& q = *def.quantization;
    if (q.scales.empty() || q.scales.size() != q.zero_points.size())
      return invalid_model("quantisation with {} scales and {} zero points", q.scales.size(),
                           q.zero_points.size());
    if (q.axis < -1 || (q.axis >= 0 && def.shape.ranked() && q.axis >= def.shape.rank()))
      return invalid_model("quantisation axis {} of shape {}", q.axis, def.shape.str());
    if (q.axis < 0 && q.scales.size() != 1)
      return invalid_model("quantisation per tensor with {} scales", q.scales.size());
    if (q.axis >= 0 && def.shape.ranked()) {
      const Dim& dim = def.shape[q.axis];
      if (dim.known() && static_cast<std::uint64_t>(dim.value) != q.scales.size())
        return invalid_model("{} scales for axis {} of shape {}", q.scales.size(), q.axis,
                             def.shape.str());
    }
    for (const float scale : q.scales)
      if (!std::isfinite(scale) || !(scale > 0))
        return invalid_model("quantisation scale {} is not a positive number", scale);
    for (const float mean : q.channel_means)
      if (!std::isfinite(mean))
        return invalid_model("channel mean {} is not a finite number", mean);
    const std::int32_t low = q.is_signed ? -128 : 0, high = q.is_signed ? 127 : 255;
    for (const std::int32_t zero_point : q.zero_points)
      if (zero_point < low || zero_point > high)
        return invalid_model("zero point {} lies outside [{}, {}]", zero_point, low, high);
    return {};
  }

  Status check_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const TensorId id = graph_.inputs[i];
      if (!in_range(id)) return invalid_model("graph input {}: there is no tensor {}", i, id);
      const TensorDef& def = graph_.tensor(id);
      if (def.is_constant()) return invalid_model("graph input '{}' is a constant", def.name);
      if (defined_[id]) return invalid_model("graph input '{}' is listed twice", def.name);
      if (def.type == DataType::undefined)
        return invalid_model("graph input '{}' has no data type", def.name);
      defined_[id] = true;
    }
    return {};
  }

  Status check_outputs() const {
    std::vector<bool> seen(graph_.tensor_count());
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const TensorId id = graph_.outputs[i];
      if (!in_range(id)) return invalid_model("graph output {}: there is no tensor {}", i, id);
      const TensorDef& def = graph_.tensor(id);
      if (!defined_[id])
        return invalid_model("graph output '{}' is not produced by any layer", def.name);
      if (def.left_out)
        return invalid_model("graph output '{}' was left out of the file", def.name);
      // Outputs of a net are known by name; those of a sub-graph by position.
      if (seen[id] && depth_ == 0)
        return invalid_model("graph output '{}' is listed twice", def.name);
      seen[id] = true;
    }
    return {};
  }

  // --- layers ------------------------------------------------------------------------------------

  Status check_layers() {
    std::unordered_set<std::string_view> names;
    std::unordered_set<LayerId> ids;
    for (std::size_t i = 0; i < graph_.layers().size(); ++i) {
      const Layer& layer = graph_.layers()[i];
      if (layer.name.empty()) return invalid_model("layer {} has no name", i);
      if (!names.insert(layer.name).second)
        return invalid_model("two layers are called '{}'", layer.name);
      if (layer.id == 0 || layer.id >= graph_.next_layer_id() || !ids.insert(layer.id).second)
        return invalid_model("layer '{}': id {} is taken or not below {}", layer.name, layer.id,
                             graph_.next_layer_id());
      Status status = check_layer(layer);
      if (!status.ok()) return std::move(status).with_context("layer '" + layer.name + "'");
    }
    return {};
  }

  Status check_layer(const Layer& layer) {
    if (layer.type == nullptr) return invalid_model("it has no type");
    if (types_.find(layer.type->name) != layer.type)
      return invalid_model("its type '{}' is unknown", layer.type->name);
    Params params = layer.params;
    SN_RETURN_IF_ERROR(layer.type->check_params(params));
    SN_RETURN_IF_ERROR(check_layer_inputs(layer));
    SN_RETURN_IF_ERROR(check_left_out(layer));
    SN_RETURN_IF_ERROR(check_layer_outputs(layer));
    SN_RETURN_IF_ERROR(check_post_ops(layer));
    return check_subgraphs(layer);
  }

  Status check_layer_inputs(const Layer& layer) const {
    const LayerType& type = *layer.type;
    if (layer.layer_inputs > layer.inputs.size())
      return invalid_model("{} layer inputs, but {} inputs in all", layer.layer_inputs,
                           layer.inputs.size());
    const auto count = static_cast<std::int64_t>(layer.layer_inputs);
    if (!type.inputs.allows(count))
      return invalid_model("layer type '{}' does not take {} inputs", type.name, count);
    // Lists of any length have no optional places, but for what control flow captures.
    const bool all_required = type.inputs.max == -1 && layer.subgraphs.empty();
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const TensorId id = layer.inputs[i];
      if (id != kNoTensor && !in_range(id))
        return invalid_model("input {}: there is no tensor {}", i, id);
      const bool required =
          i >= layer.layer_inputs || all_required || i < static_cast<std::size_t>(type.inputs.min);
      if (id == kNoTensor && required) return invalid_model("input {} is missing", i);
    }
    return {};
  }

  // Only weights may be: passes, shapes and plans read the values of other constants.
  Status check_left_out(const Layer& layer) const {
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const TensorId id = layer.inputs[i];
      if (id == kNoTensor || !graph_.tensor(id).left_out) continue;
      const std::optional<LayerWeights>& weights = layer.type->weights;
      if (!weights || weights->input != i || i >= layer.layer_inputs ||
          !graph_.tensor(id).is_constant())
        return invalid_model("input {} was left out of the file, and is not the layer's weights",
                             i);
    }
    return {};
  }

  Status check_layer_outputs(const Layer& layer) {
    const LayerType& type = *layer.type;
    const auto count = static_cast<std::int64_t>(layer.outputs.size());
    if (!type.outputs.allows(count))
      return invalid_model("layer type '{}' does not give {} outputs", type.name, count);
    bool any = false;
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      const TensorId id = layer.outputs[i];
      if (id == kNoTensor) {
        if (i < static_cast<std::size_t>(type.outputs.min))
          return invalid_model("output {} is missing", i);
        continue;
      }
      if (!in_range(id)) return invalid_model("output {}: there is no tensor {}", i, id);
      if (defined_[id])
        return invalid_model("output {}: tensor '{}' is a constant, a graph input, or made twice",
                             i, graph_.tensor(id).name);
      defined_[id] = true;
      any = true;
    }
    if (!any) return invalid_model("it has no output");
    return {};
  }

  Status check_post_ops(const Layer& layer) const {
    std::vector<bool> used(layer.inputs.size());
    if (!layer.post_ops.empty()) {
      // A view has no work of its own to which something could be added, and would write into its
      // input; where sizes are found while running there is no output to work on beforehand.
      if (layer.type->is_view || layer.type->data_dependent_output)
        return invalid_model("layer type '{}' takes no post-ops", layer.type->name);
      if (layer.outputs[0] == kNoTensor) return invalid_model("post-ops, but output 0 is left out");
    }
    for (std::size_t i = 0; i < layer.post_ops.size(); ++i) {
      const PostOp& op = layer.post_ops[i];
      if (op.kind == PostOp::Kind::unary) {
        if (static_cast<int>(op.unary) >= kUnaryOpCount)
          return invalid_model("post-op {}: unary function {} is unknown", i,
                               static_cast<int>(op.unary));
        if (result_type(op.unary, DataType::float32) != DataType::float32)
          return invalid_model("post-op {}: '{}' changes the data type", i, to_string(op.unary));
        continue;
      }
      if (op.kind != PostOp::Kind::binary)
        return invalid_model("post-op {}: kind {} is unknown", i, static_cast<int>(op.kind));
      if (static_cast<int>(op.binary) >= kBinaryOpCount)
        return invalid_model("post-op {}: binary function {} is unknown", i,
                             static_cast<int>(op.binary));
      if (result_type(op.binary, DataType::float32) != DataType::float32)
        return invalid_model("post-op {}: '{}' changes the data type", i, to_string(op.binary));
      if (op.input < layer.layer_inputs || op.input >= layer.inputs.size())
        return invalid_model("post-op {}: input {} is not one of the inputs [{}, {}) of post-ops",
                             i, op.input, layer.layer_inputs, layer.inputs.size());
      used[op.input] = true;
      const DataType x = graph_.tensor(layer.inputs[op.input]).type;
      const DataType y = graph_.tensor(layer.outputs[0]).type;
      if (x != y && x != DataType::undefined && y != DataType::undefined)
        return invalid_model("post-op {}: its input is {}, but the output is {}", i, to_string(x),
                             to_string(y));
    }
    for (std::size_t i = layer.layer_inputs; i < layer.inputs.size(); ++i)
      if (!used[i]) return invalid_model("input {} belongs to no post-op", i);
    return {};
  }

  // After all layers' outputs are known: every tensor that a layer reads comes from somewhere.
  Status check_uses() const {
    for (const Layer& layer : graph_.layers())
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const TensorId id = layer.inputs[i];
        if (id != kNoTensor && !defined_[id])
          return invalid_model("layer '{}': input {}: tensor '{}' is not produced by any layer",
                               layer.name, i, graph_.tensor(id).name);
      }
    return {};
  }

  Status check_subgraphs(const Layer& layer) const {
    for (std::size_t i = 0; i < layer.subgraphs.size(); ++i) {
      if (layer.subgraphs[i] == nullptr) return invalid_model("sub-graph {} is missing", i);
      if (depth_ + 1 > kMaxSubgraphDepth)
        return invalid_model("sub-graphs are nested deeper than {}", kMaxSubgraphDepth);
      Status status = Verifier(*layer.subgraphs[i], types_, depth_ + 1).run();
      if (!status.ok()) return std::move(status).with_context("sub-graph " + std::to_string(i));
    }
    return {};
  }

  const Graph& graph_;
  const LayerTypes& types_;
  int depth_;
  std::vector<bool> defined_;  // per tensor: an input, a constant, or some layer's output
};

}  // namespace

Status Graph::verify(const LayerTypes& types) const {
  return Verifier(*this, types, 0).run();
}

}  // namespace softneuro
