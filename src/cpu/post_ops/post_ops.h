// Post-ops at run time: what passes have fused behind a layer, applied in place to its output.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/routine/routine.h"
#include "cpu/tensor/broadcast_walk.h"

namespace softneuro {

// The post-ops of one problem, ready to be applied to chunks of the output while they are in the
// cache. Immutable; holds no pointers to tensors but to constants that it had to reorder.
class SN_INTREE PostOpProgram {
 public:
  PostOpProgram() = default;  // empty: does nothing

  // For Routine::supports_post_ops: output 0 and all operands are float32, and the operands'
  // layouts and functions are such that apply() can be used.
  static Applicability supports(const Problem& problem);
  // The same where output 0 and operands may also be float16 or bfloat16: the routine has float32
  // tiles, to which apply() is put before they are rounded.
  static Applicability supports_in_float32(const Problem& problem);
  // The same for routines of qint8 schemas: output 0 is qint8 or float32, operands are qint8 per
  // tensor (dequantised on the way) or one of the above.
  static Applicability supports_quantized(const Problem& problem);
  // For any data types; apply() may be used if one of the above says so. out_of_memory, or
  // unsupported where operands have a layout that is neither the output's nor that of a plain
  // constant.
  static Result<PostOpProgram> create(const Problem& problem);

  bool empty() const noexcept { return steps_.empty(); }

  // Applies all post-ops in place to data[0, count): the elements [offset, offset + count) of
  // output 0, counted in the order of its memory (for a blocked layout with its padding, which is
  // left zero even if there are no post-ops). `data` need not be in the output itself: it may be
  // a tile that is copied there later. `inputs` are all inputs of the layer, those of post-ops
  // included: Context::inputs().
  void apply(std::span<const TensorView> inputs, float* data, std::int64_t offset,
             std::int64_t count) const noexcept;
  // The same for any data type, element by element in double (int64 for integers), rounded once
  // at the end. Slow.
  void apply_any(std::span<const TensorView> inputs, const TensorView& output, std::int64_t offset,
                 std::int64_t count) const noexcept;

 private:
  struct Step {
    PostOp op;
    BroadcastWalk walk;  // of the operand
    Tensor padded;       // stands for a constant operand whose channels had to be padded
    // Of a qint8 operand.
    float scale = 0;
    std::int32_t zero_point = 0;
    bool is_signed = false;
  };

  static Applicability supports(const Problem& problem, bool (*takes)(DataType));
  static Result<Step> make_step(const Problem& problem, const PostOp& op);
  static const float* read_operand(const Step& step, const TensorView& operand, std::int64_t offset,
                                   std::int64_t count, float* buffer) noexcept;
  void apply_binary(const Step& step, std::span<const TensorView> inputs, float* data,
                    std::int64_t offset, std::int64_t count) const noexcept;

  std::vector<Step> steps_;
  ChannelPadding padding_;
};

// A routine that fuses post-ops where kSupports, one of the above, says so.
template <Applicability (*kSupports)(const Problem&), class Base>
class FusesPostOps : public Base {
 protected:
  using Base::Base;
  bool supports_post_ops(const Problem& problem) const override { return kSupports(problem).ok(); }
};

// Whether a kernel that could work in place on input `index` still may with the problem's
// post-ops: the same tensor may be an operand that they want to read unchanged, which a problem
// does not tell.
SN_INTREE bool post_ops_allow_in_place(const Problem& problem, int index);

}  // namespace softneuro
