// How a layer is written for inputs whose axes are in another order (LayerType::permute_axes).
#pragma once

#include <vector>

#include "core/graph/layer_type.h"

namespace softneuro {

// A layer reads transposed tensors; it is to read the tensors before the transpose instead, and its
// output is transposed. Axis a of what it reads now is axis perm[a] of what it will read.
struct AxisPermutation {
  const InferContext& layer;  // as it is; value inputs only where they are constants
  const std::vector<int>& perm;
  Params params;  // in: the layer's parameters; out: the new ones
  // In: perm; out: how the output's axes are permuted, fewer if the layer drops some.
  std::vector<int> result_perm;
  // In: empty; out: the new value of the input that lists axes, if the layer type has one, also
  // where the layer leaves that input out.
  std::vector<std::int64_t> axes;
  int axes_input = -1;  // in: -1; out: index of that input
};

// All axes mean the same to the layer: element-wise ones.
SN_INTREE bool permute_no_axes(AxisPermutation& permutation);
// The integer parameter "axis" names one.
SN_INTREE bool permute_axis_parameter(AxisPermutation& permutation);
// Input `input` lists axes; where it is left out, the first `count` are meant.
SN_INTREE bool permute_axes_input(AxisPermutation& permutation, std::size_t input,
                                  std::size_t count);

}  // namespace softneuro
