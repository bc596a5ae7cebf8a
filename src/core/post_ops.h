// Post-ops at run time: what passes have fused behind a layer, applied in place to its output.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/routine.h"

namespace softneuro {

// How a post-op's second operand is read while output 0 is walked in the order of its memory:
// row-major over `dims`, the operand's element at Σ index·strides (0 where it is broadcast).
// Dimensions that can be walked as one are one; the last stride is 0 or 1.
struct OperandWalk {
  static constexpr int kMaxDims = kMaxRank + 1;  // a blocked layout splits the channels
  int rank = 0;
  std::int64_t dims[kMaxDims] = {};
  std::int64_t strides[kMaxDims] = {};

  // The operand's element that stands opposite element `offset` of the output.
  std::int64_t at(std::int64_t offset) const noexcept;
};

// The post-ops of one problem, ready to be applied to pieces of the output while they are in the
// cache. Immutable; holds no pointers to tensors but to constants that it had to reorder.
class SN_INTREE PostOpProgram {
 public:
  PostOpProgram() = default;  // empty: does nothing

  // For Routine::supports_post_ops: output 0 and all operands are float32, and the operands'
  // layouts and functions are such that apply() can be used.
  static Applicability supports(const Problem& problem);
  // For any data types; apply() may be used if supports(problem). out_of_memory, or unsupported
  // where operands have a layout that is neither the output's nor that of a plain constant.
  static Result<PostOpProgram> create(const Problem& problem);

  bool empty() const noexcept { return steps_.empty(); }

  // Applies all post-ops in place to data[0, count): the elements [offset, offset + count) of
  // output 0, counted in the order of its memory (for a blocked layout with padding). `data` need
  // not lie in the output itself: it may be a tile that is copied there later. `inputs` are all
  // inputs of the layer, those of post-ops included: Context::inputs().
  void apply(std::span<const TensorView> inputs, float* data, std::int64_t offset,
             std::int64_t count) const noexcept;
  // The same for any data type, element by element in double (int64 for integers), rounded once
  // at the end. Slow.
  void apply_any(std::span<const TensorView> inputs, const TensorView& output, std::int64_t offset,
                 std::int64_t count) const noexcept;

 private:
  struct Step {
    PostOp op;
    OperandWalk walk;
    Tensor padded;  // stands for a constant operand whose channels had to be padded
  };

  static Result<Step> make_step(const Problem& problem, const PostOp& op);
  void apply_binary(const Step& step, std::span<const TensorView> inputs, float* data,
                    std::int64_t offset, std::int64_t count) const noexcept;
  // Blocked layouts: zero again in the channels that pad the last block.
  template <class Zero>
  void for_padding(std::int64_t offset, std::int64_t count, Zero zero) const noexcept;

  std::vector<Step> steps_;
  std::int64_t block_ = 1;           // channels per block
  std::int64_t used_ = 0;            // channels of the last block that are in use; 0: all
  std::int64_t blocks_ = 1;          // ⌈C/block⌉
  std::int64_t block_elements_ = 0;  // spatial positions · block
};

// Puts the post-ops of `problem` behind `base`, which was made for the same problem without them:
// base runs with its own inputs, then the ops work in place on output 0. The kernel for routines
// that do not take post-ops themselves.
SN_INTREE Result<std::unique_ptr<Kernel>> make_post_op_tail(std::unique_ptr<Kernel> base,
                                                            const Problem& problem);

}  // namespace softneuro
