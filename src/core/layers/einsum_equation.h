// einsum equations: "bij,bjk->bik", "...ij,...jk", "ii->i".
#pragma once

#include <string_view>
#include <vector>

#include "softneuro/export.h"
#include "softneuro/shape.h"
#include "softneuro/status.h"

namespace softneuro {

inline constexpr int kMaxEinsumLabels = 32;

// Each distinct index of the equation has a number; those of the output come first, in the
// output's order, then those that are summed. The axes behind "…" count as labels of their own.
struct EinsumPlan {
  int labels = 0;
  int output_labels = 0;                 // = the output's rank
  std::vector<std::vector<int>> inputs;  // per input, per axis: its label
};

// Fits the equation to inputs of the given ranks. invalid_model says what does not fit.
SN_INTREE Result<EinsumPlan> parse_einsum(std::string_view equation, const std::vector<int>& ranks);

}  // namespace softneuro
