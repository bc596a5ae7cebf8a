// adapt: the same tensor in another format (the paper's section III-B). Put into a net by
// src/adapt/insert_adapts.cpp between layers whose routines want different formats.
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

Status infer_adapt(InferContext& context) {
  context.set_output(0, context.type(0), context.shape(0));
  return {};
}

}  // namespace

Status register_layer_adapt(LayerTypes& types) {
  LayerType type;
  type.name = "adapt";
  type.doc =
      "x in another format: data type (of float32, float16, bfloat16 and qint8 tensors), layout, "
      "device. Input 0: x. Output 0: the same shape and meaning. Which formats is said by the "
      "routine path; without one the layer is a copy.";
  type.formats = FormatRule::any;
  type.infer = infer_adapt;
  return types.add(std::move(type));
}

}  // namespace softneuro
