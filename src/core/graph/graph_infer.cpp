// Graph::infer_shapes: data types and shapes of all tensors, from those of inputs and constants.
#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"

namespace softneuro {
namespace {

// A post-op's input broadcasts to the output, never the other way.
Status check_post_op_shapes(const Graph& graph, const Layer& layer) {
  for (const PostOp& op : layer.post_ops) {
    if (op.kind != PostOp::Kind::binary) continue;
    if (op.input >= layer.inputs.size() || layer.inputs[op.input] == kNoTensor)
      return invalid_model("post-op {} has no input", op.str());
    const DynamicShape& x = graph.tensor(layer.inputs[op.input]).shape;
    const DynamicShape& y = graph.tensor(layer.outputs[0]).shape;
    const Result<DynamicShape> joint = broadcast(x, y);
    bool fits = joint.ok() && (!x.ranked() || !y.ranked() || x.rank() <= y.rank());
    for (int i = 0; fits && joint->ranked() && i < y.rank(); ++i)
      if (y[i].known() && (*joint)[i].known() && y[i].value != (*joint)[i].value) fits = false;
    if (!fits)
      return invalid_model("post-op {}: its input of shape {} does not broadcast to {}", op.str(),
                           x.str(), y.str());
  }
  return {};
}

// "tensor.axis" for each dimension of which nothing is known.
void name_unknown_dims(const std::string& tensor, DynamicShape& shape) {
  for (int i = 0; i < shape.rank(); ++i)
    if (!shape[i].known() && shape[i].symbol.empty())
      shape[i] = Dim(fmt::format("{}.{}", tensor, i));
}

Status infer_layer(Graph& graph, Layer& layer, ShapeValues& values, bool name_unknown) {
  SN_RETURN_IF_ERROR(layer.type->check_params(layer.params));
  std::vector<InferContext::Input> inputs(layer.layer_inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorId id = layer.inputs[i];
    if (id == kNoTensor) continue;
    const TensorDef& def = graph.tensor(id);
    if (def.type == DataType::undefined)
      return invalid_model("input {} ('{}') has no data type", i, def.name);
    inputs[i] = {def.type, def.shape, values.tensor(id)};
    if (const ShapeValue* known = values.find(id); known != nullptr && inputs[i].value == nullptr)
      inputs[i].elements = &known->elements;
  }
  std::vector<InferContext::Output> outputs(layer.outputs.size());
  InferContext context(layer.params, inputs, outputs);
  SN_RETURN_IF_ERROR(layer.type->infer(context));

  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (layer.outputs[i] == kNoTensor) continue;
    TensorDef& def = graph.tensor(layer.outputs[i]);
    if (outputs[i].type == DataType::undefined)
      return invalid_model("the data type of output {} ('{}') cannot be told", i, def.name);
    const DynamicShape& shape = outputs[i].shape;
    if (shape.ranked() && !Shape::fits(shape.dims().size()))
      return unsupported("output {} ('{}') would have rank {}; at most {} is supported", i,
                         def.name, shape.rank(), kMaxRank);
    if (shape.is_static() && storage_bytes(outputs[i].type, shape.to_shape(), Layout::plain) < 0)
      return invalid_model("output {} ('{}') of shape {} would have too many elements", i, def.name,
                           shape.str());
    def.type = outputs[i].type;
    def.shape = std::move(outputs[i].shape);
    if (name_unknown) name_unknown_dims(def.name, def.shape);
  }
  SN_RETURN_IF_ERROR(check_post_op_shapes(graph, layer));
  values.visit(layer);
  return {};
}

}  // namespace

Status Graph::infer_shapes(bool name_unknown) {
  if (name_unknown)
    for (const TensorId id : inputs) name_unknown_dims(tensors_[id].name, tensors_[id].shape);
  const std::vector<std::int32_t> producer = producers();
  ShapeValues values(*this);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    for (const TensorId id : layer.inputs)
      if (id != kNoTensor && producer[id] >= static_cast<std::int32_t>(i))
        return internal_error("layer '{}' stands before the layer that makes its input '{}'",
                              layer.name, tensors_[id].name);
    Status status = infer_layer(*this, layer, values, name_unknown);
    if (!status.ok())
      return std::move(status).with_context(
          fmt::format("layer '{}' ({})", layer.name, layer.type->name));
  }
  return {};
}

}  // namespace softneuro
