// adapt: the same tensor in another format (the paper's section III-B). Put into a net by
// src/adapt/insert_adapts.cpp between layers whose routines want different formats.
#include "core/graph/layer_type.h"

namespace softneuro {

Status register_layer_adapt(LayerTypes& types) {
  return types.add(
      {.name = "adapt",
       .doc = "x in another format: data type (of float32, float16, bfloat16 and qint8 tensors), "
              "layout, device. Input 0: x. Output 0: the same shape and meaning. The routine path "
              "gives the formats; without one the layer is a copy.",
       .formats = FormatRule::any,
       .infer = infer_like_input});
}

}  // namespace softneuro
