// A kernel that runs operators of XNNPACK, each on the thread that takes it.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "core/post_ops.h"
#include "core/routine.h"
#include "plugins/xnnpack/library.h"

namespace softneuro::xnnpack {

// A part of the work, cut when the kernel is made: an operator on its part of x and y. Operators
// bind addresses and keep weights: each session makes its own.
struct OperatorPiece {
  std::function<xnn_status(xnn_operator_t*)> create;
  // Binds addresses; the same sizes each time, so that the library allocates at the first only.
  std::function<xnn_status(xnn_operator_t, const float* x, float* y)> setup;
  std::int64_t x_at = 0, y_at = 0;  // where its parts begin, in elements
  std::int64_t y_count = 0;         // elements from y_at on that it writes
};

struct OperatorWork {
  std::vector<OperatorPiece> pieces;
  std::vector<Tensor> constants;  // kept: what `create` reads
  PostOpProgram tail;             // post-ops that the operators do not do
  std::size_t library_bytes = 0;  // about what the operators of one session keep
};

// An error if an operator cannot be made.
Result<std::unique_ptr<Kernel>> make_operator_kernel(OperatorWork work);

// Whether operators can read a layer's inputs: x, and constant weights and bias where it has them,
// all float32, with something to compute.
Applicability takes_inputs(const Problem& problem);

// The routine parameter `split`: in how many pieces the work is cut. One per thread, or not at all.
RoutineParams split_params(const Problem& problem);
ParamSpace split_space(const Problem& problem);

// The limits that operators put on their output: those of a leading relu or clip, which is then
// taken from `problem`'s post-ops (a copy that becomes the tail's).
struct OutputLimits {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
OutputLimits take_limits(Problem& problem);
// The tail for what take_limits() left.
Result<PostOpProgram> tail_of(const Problem& problem);

}  // namespace softneuro::xnnpack
