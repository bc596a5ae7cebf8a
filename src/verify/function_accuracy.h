// How exact routines must compute functions of one and two numbers, over all numbers of a type.
#pragma once

#include "core/graph/elementwise.h"

namespace softneuro {

// A result may be off by `result` units in the last place of the exact one, apart from its own
// rounding, and besides by what a change of each argument by `argument` units of that does.
//
// Gradual underflow is not asked for: a result may be off by less than the smallest normal number,
// as long as its sign is not the other one. Some functions end earlier: `vanishing` such numbers
// away from zero, in functions that are a product by their argument (`is_product`) times that.
// Arguments that are subnormal count in full.
struct FunctionAccuracy {
  double result = 0;
  double argument = 0;
  double vanishing = 1;
  bool is_product = false;
};

FunctionAccuracy accuracy_of(UnaryOp op) noexcept;
FunctionAccuracy accuracy_of(BinaryOp op) noexcept;

}  // namespace softneuro
