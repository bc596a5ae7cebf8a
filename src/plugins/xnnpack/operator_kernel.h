// A kernel that runs operators of XNNPACK, each on the thread that takes it.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "plugins/partition/thread_parts.h"
#include "plugins/xnnpack/library.h"

namespace softneuro::xnnpack {

// A part of the work, fixed when the kernel is made: an operator on its part of x and y. Operators
// bind addresses and keep weights: each session makes its own.
struct OperatorChunk {
  std::function<xnn_status(xnn_operator_t*)> create;
  // Binds addresses; the same sizes each time, so that the library allocates at the first only.
  std::function<xnn_status(xnn_operator_t, const float* x, const float* second, float* y)> setup;
  bool takes_two = false;                          // inputs 0 and 1; else `second` is null
  std::int64_t x_at = 0, second_at = 0, y_at = 0;  // where its parts begin, in elements
  std::int64_t y_count = 0;                        // elements from y_at on that it writes
  // What element i of its part of y is, before post-ops, from its part of x. The library's clamp,
  // which cannot be left out, makes an infinity of NaN: infinite elements are computed again.
  // Empty: nothing is clamped.
  std::function<double(const float* x, const float* second, std::int64_t i)> element;
  // Puts right what the operator has written, before post-ops; may be empty.
  std::function<void(float* y)> repair;
};

struct OperatorWork {
  std::vector<OperatorChunk> chunks;
  std::vector<Tensor> constants;  // kept: what `create` reads
  PostOpProgram tail;             // all post-ops
  int in_place_input = -1;        // that all operators read exactly where they write
};

// An error if an operator cannot be made.
Result<std::unique_ptr<Kernel>> make_operator_kernel(OperatorWork work);

// A routine without parameters. Post-ops are the kernel's OperatorWork::tail.
inline RoutineFunctions operator_routine(Applicability (*applicable)(const Problem&),
                                         decltype(RoutineFunctions::create_with) create) {
  return {.facts = {.library = library_name()},
          .applicable = applicable,
          .supports_post_ops = PostOpProgram::supports,
          .create_with = create};
}

// Others.
class OperatorRoutine : public FusesPostOps<PostOpProgram::supports, Routine> {
 public:
  RoutineFacts facts() const override { return {.library = library_name()}; }

 protected:
  using FusesPostOps::FusesPostOps;
};

// With the routine parameter `split` (thread_parts.h): chunks of the work, one per thread or one.
class SplitImplementation : public Implementation {
 public:
  using Implementation::Implementation;
  RoutineParams default_params() const final;
  ParamSpace param_space() const override;
  Applicability check_params(const RoutineParams& params) const final;
};

// Whether operators can read a layer's inputs: x, and constant weights and bias where it has them,
// all float32, with something to compute.
Applicability takes_inputs(const Problem& problem);

// Operators clamp their output to (−kUnlimited, kUnlimited): a relu or clip there would lose NaN.
inline constexpr float kUnlimited = std::numeric_limits<float>::infinity();

// The library's integers.
inline std::uint32_t u32(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}
inline std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace softneuro::xnnpack
