// Constants in the type of the tensors beside them. Tuning takes the tensors of a 16-bit model to
// other types and leaves its constants as they are: kernels that move elements, or read floats
// alone, convert these when they are made.
#pragma once

#include <vector>

#include "core/routine/routine.h"

namespace softneuro {

class TypedConstants {
 public:
  TypedConstants() = default;  // all inputs as they are
  // Converts the constants of 16 and 32 bits that are not of `type`. All are as they are where
  // `type` is not one of these.
  static Result<TypedConstants> create(const Problem& problem, DataType type);
  static Result<TypedConstants> create(const Problem& problem) {  // in that of output 0
    return create(problem, problem.outputs[0].type);
  }

  // Input i in that type, valid as long as this object and the run.
  TensorView input(const Context& context, std::size_t i) const noexcept {
    return i < converted_.size() && !converted_[i].empty() ? view_of(converted_[i])
                                                           : context.input(i);
  }

 private:
  std::vector<Tensor> converted_;  // by input; empty: as it is
};

// Whether it is float32, or a constant that can be converted.
bool becomes_float32(const TensorSpec& spec);
// For applicable() of routines that compute in float32: whether all outputs are float32, and all
// inputs of floating-point types are, or are constants that can be converted.
Applicability takes_float32(const Problem& problem);

}  // namespace softneuro
