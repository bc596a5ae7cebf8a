// Weights in 8 bits: what all qint8 routines of conv1/2/3 and dense make of the model's weights, so
// that they differ in how they sum, never in what they sum.
//
// The integers of a layer with weights:  acc[m] = Σ (x − zero point of x) · w[m]    exact, in int32
//                                        y[m]   = fma(acc[m], scale of x · scale[m], bias[m])
// in float32; then the post-ops, in float32; then, if the output is qint8,
//                                        q      = saturate(round(y · (1 / scale of y)) + zero
//                                        point)
// with round half to even. What is in the padding is the real number 0, the zero point of x.
#pragma once

#include <vector>

#include "core/routine/routine.h"

namespace softneuro {

// Weights (input 1) and bias (input 2) of a layer.
struct QuantizedWeights {
  std::int64_t outputs = 0;  // channels (conv) or columns (dense) of the output
  std::int64_t depth = 0;    // products per output element
  // [outputs][depth], in [−128, 127]; conv: a row is [channels per group][kernel positions].
  std::vector<std::int8_t> values;
  std::vector<float> scales;  // per output: real weight ≈ scale · value; > 0
  // Per output: the model's bias (0 if there is none), corrected by what the rounding of the
  // weights takes from the expected output, where the means of x's channels are known.
  std::vector<float> bias;
};

// Whether x is qint8 per tensor, weights and bias are real constants, output 0 is float32 or qint8
// per tensor, and weights that the model quantised can be its own integers. For conv1/2/3 and
// dense.
SN_INTREE Applicability takes_quantized_weights(const Problem& problem);

// The formats for which a qint8 routine with weights may be asked: x (and operands of post-ops that
// have a quantisation) in qint8 and `layout`, the output in qint8 if it has a quantisation, or in
// float32. Nothing if x has no quantisation.
SN_INTREE std::vector<FormatTuple> quantized_formats(const Problem& problem, Layout layout);

// Per output channel, symmetric: the largest magnitude becomes 127. On processors whose tiles gain
// by it (Int8TileOps::gains_by_pairs) it may become less, so that pairs keep kInt8PairLimit. Where
// the weights carry a quantisation of their own (an imported model's), exactly the model's
// integers, less their zero point. Precondition: takes_quantized_weights(problem). unsupported if a
// weight is not finite.
SN_INTREE Result<QuantizedWeights> quantize_weights(const Problem& problem);

// The quantisation of a qint8 tensor with one scale, as kernels want it.
struct TensorScale {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool is_signed = false;

  std::int32_t low() const noexcept { return is_signed ? -128 : 0; }
  std::int32_t high() const noexcept { return is_signed ? 127 : 255; }
  // Of the bytes as kernels read them: unsigned, signed ones + 128.
  std::int32_t unsigned_zero_point() const noexcept { return zero_point + (is_signed ? 128 : 0); }
};
// Precondition: spec.type is qint8 and it has one scale.
SN_INTREE TensorScale tensor_scale(const TensorSpec& spec);

}  // namespace softneuro
