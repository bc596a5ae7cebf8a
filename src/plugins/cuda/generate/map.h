// Element-wise kernels: each thread reads operands opposite a few neighbouring elements of output
// 0, in vectors of 16 bytes where they stand side by side, and writes those elements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "plugins/cuda/generate/kernel_source.h"

namespace softneuro::cuda {

// Where an input of a problem is read: opposite element (n, c, …) of output 0 it stands at
// Σ index · strides. A stride is in elements; 0 where the input is broadcast.
struct Operand {
  static constexpr std::size_t kOutput = ~std::size_t{0};

  std::size_t input = 0;              // kOutput: output 0 as it stands
  std::vector<std::int64_t> strides;  // by logical dimension of output 0
};

// With numpy's broadcasting, in its own layout; an input of one element, whatever its rank.
// unsupported: it does not broadcast, or a layout has blocks.
Result<Operand> broadcast(const Problem& problem, std::size_t input);
// An input of one element per index of `axis`.
Operand per_index(const Problem& problem, std::size_t input, int axis);
Operand output_itself(const Problem& problem);

// The number (see get() of the prelude) opposite element `index`, an expression of type Index, of
// output 0's memory.
std::string number(KernelSource& source, const Problem& problem, const Operand& operand,
                   const std::string& index);

// y = f(x0, x1, …) for each element of output 0. `function`: statements that return y's number, of
// the numbers x0, x1, … of the operands, and of what `source` has given.
Launch map(KernelSource& source, const Problem& problem, std::span<const Operand> operands,
           const std::string& function);

// The first layer input that is opposite output 0, element by element, in the same format: an
// element-wise kernel may write there. −1: there is none.
int in_place_input(const Problem& problem);

}  // namespace softneuro::cuda
