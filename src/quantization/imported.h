// The quantisation that an imported model brings along, as pairs of quantize and dequantize layers.
#pragma once

#include <optional>

#include "core/graph.h"
#include "core/registry.h"

namespace softneuro {

// What a quantize or dequantize layer says of its real tensor: 8 bits, scale and zero point known,
// one for the tensor or one per index of an axis. Nothing otherwise.
std::optional<Quantization> quantization_of(const Graph& graph, const Layer& layer);

struct AdoptOptions {
  // Leave the pairs in the graph, so that routines in floating point see rounded numbers as the
  // model's own do. Tensors are annotated all the same.
  bool keep_rounding = false;
};

// Pairs quantize → dequantize with the same scale and zero point become the quantisation of the
// tensor in front (TensorDef::quantization) and vanish: any routine may compute that tensor, in 8
// bits with exactly the model's levels. A tensor that already has another quantisation keeps it,
// and the pair. Afterwards the passes run once more: what stood apart because of a pair may be
// fused now. Gives the number of tensors that were annotated. (Dequantised constants keep their
// quantisation from import on: fold_constants.)
Result<std::size_t> adopt_quantization(Graph& graph, const Registry& registry,
                                       const AdoptOptions& options = {});

}  // namespace softneuro
