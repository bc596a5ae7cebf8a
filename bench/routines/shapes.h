// Layers of well-known nets, as text that main.cpp understands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/routine/evaluate.h"

namespace softneuro::bench {

// A layer's problem in the model's own format (float32, plain), from one of
//   conv:64x56x56,o256,k1,s1,p0,d1,g1[,n1][,relu][,add]   k, s, p, d: one number or AxB
//   dense:128x768,o3072[,gelu]                            rows x depth
//   matmul:12x128x64,o128                                 batch x rows x depth, no constants
// Left out: k1, s1, p = (k−1)/2, d1, g1, n1. `add` adds a tensor of the output's shape first.
Result<Problem> parse_problem(const Registry& registry, std::string_view text);

struct NamedShapes {
  std::string_view net;
  std::span<const std::string_view> shapes;
};
// What `--net` knows: the kinds of layers that take most of the time of each net, once each.
std::span<const NamedShapes> named_shapes();

}  // namespace softneuro::bench
