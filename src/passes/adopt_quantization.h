// The quantisation that an imported model brings along, as pairs of quantize and dequantize layers.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/routine/registry.h"

namespace softneuro {

// Real numbers to the model's integers, and back. The two layer types that this file is about.
SN_INTREE bool is_quantize(const Layer& layer);
bool is_dequantize(const Layer& layer);

// What a quantize or dequantize layer says of its real tensor: 8 bits, scale and zero point known,
// one for the tensor or one per index of an axis. Nothing otherwise.
std::optional<Quantization> quantization_of(const Graph& graph, const Layer& layer);

// Whether the model is a quantised one, in whatever way: 8 bits or 16, of inputs, outputs, inner
// tensors or weights, known ahead or computed while it runs.
bool is_quantised(const Graph& graph);

// Pairs quantize → dequantize with the same scale and zero point become one function, unary
// fake_quantize, which the passes fuse into the layer before: any routine gives what the model
// means, rounding and saturation included (exporters leave out activations that saturation stands
// for). Nothing remains where the values are of these levels already. What it gives is annotated
// (TensorDef::quantization), so that 8-bit routines may compute it with exactly the model's levels;
// the tensor in front as well, if nothing else reads it. Pairs with one scale per channel stay.
// Exact: the function rounds as the two layers do. Layers without a partner stay, too, as at 8-bit
// inputs and outputs, and the tensors beside them are annotated likewise. Gives how many pairs and
// such tensors there are; 0: the graph is as it was. (Dequantised constants keep their quantisation
// from import on: fold_constants.)
SN_INTREE Result<std::size_t> adopt_quantization(Graph& graph, const Registry& registry);

}  // namespace softneuro
