// Copies of boxes of elements: what layers that move data are made of.
#pragma once

#include <span>

#include "core/routine/problem.h"
#include "cpu/tensor/strided_copy.h"
#include "plugins/cuda/generate/program.h"

namespace softneuro::cuda {

// A box that moves from an input to an output. Offsets and strides count elements.
struct Box {
  std::size_t input = 0, output = 0;
  std::vector<StridedCopy::Axis> axes;  // in any order
  std::int64_t source_offset = 0, target_offset = 0;
};

// In words of up to 16 bytes where all of the box is made of such. Numbers are converted where the
// input has another real type, as constants may. unsupported: quantised tensors.
Result<Launch> move(const Problem& problem, const Box& box);

}  // namespace softneuro::cuda
