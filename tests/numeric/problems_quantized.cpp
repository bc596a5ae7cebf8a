// Problems for qint8 routines of layer types whose other problems are not for them: constants,
// integers, too few dimensions for a layout.
#include "numeric/problem_set.h"

namespace softneuro::test {

void add_problems_quantized(ProblemSet& set) {
  for (const float limit : {0.75f, 6.0f})
    set.add("clip")
        .input({2, 19, 5, 3})
        .constant({}, explicit_values({-0.5}), DataType::float32)
        .constant({}, explicit_values({static_cast<double>(limit)}), DataType::float32);
  set.add("squeeze").input({2, 1, 19, 3, 1}).value({1});
  set.add("squeeze").input({2, 19, 3, 1, 1}).value({-1});
  set.add("unsqueeze").input({2, 19, 3}).value({3});
  set.add("unsqueeze").input({2, 19, 3}).value({0});
  // One spatial position: the channels are last in every layout.
  set.add("squeeze").input({2, 19, 1, 1, 1}).value({4});
  set.add("unsqueeze").input({2, 19, 1}).value({3});
  // Depthwise: blocks of 64 channels, kernel positions by four, padding, every rank.
  for (const std::int64_t channels : {1, 15, 63, 64, 65, 130})
    set.add("conv2")
        .input({1, channels, 5, 6})
        .constant({channels, 1, 3, 3}, normal(0.3))
        .constant({channels})
        .param("group", channels)
        .param("pads", {1, 1, 1, 1})
        .post_op(UnaryOp::relu);
  set.add("conv2")
      .input({2, 70, 7, 7})
      .constant({70, 1, 5, 5}, normal(0.2))
      .param("group", 70)
      .param("strides", {2, 2})
      .param("pads", {2, 2, 2, 2})
      .post_op(UnaryOp::silu, 1);
  set.add("conv3")
      .input({1, 20, 3, 4, 5})
      .constant({20, 1, 2, 2, 2}, normal(0.3))
      .param("group", 20);
  // An addition that is folded into the rounding, with what cuts off behind it, and others.
  const auto residual = [&](std::int64_t in, std::int64_t out) -> Case& {
    return set.add("conv2")
        .input({1, in, 7, 5})
        .constant({out, in, 1, 1}, normal(0.2))
        .constant({out});
  };
  residual(20, 67).post_op(BinaryOp::add, {1, 67, 7, 5}).post_op(UnaryOp::relu);
  residual(16, 32).post_op(BinaryOp::add, {1, 32, 7, 5}).post_op(UnaryOp::clip, 0, 1);
  residual(7, 130).post_op(UnaryOp::relu).post_op(BinaryOp::add, {1, 130, 7, 5});
  residual(8, 16).post_op(UnaryOp::clip, 0, 6).post_op(UnaryOp::clip, 1, 2);
  // Rounding to a model's own levels in front of what follows; it makes a whole level of a
  // difference in the last place of a 16-bit sum.
  constexpr float kLevel = 0.02f;
  constexpr double kOneLevel = 0.03, kRelative = 0.02;
  const auto rounded = [&](std::int64_t in, std::int64_t out) -> Case& {
    return residual(in, out)
        .post_op(UnaryOp::fake_quantize, kLevel, -120)
        .tolerance(kOneLevel, kRelative);
  };
  rounded(20, 67).post_op(BinaryOp::add, {1, 67, 7, 5}).post_op(UnaryOp::relu);
  rounded(16, 32).post_op(BinaryOp::add, {1, 32, 7, 5});
  rounded(7, 130).post_op(UnaryOp::clip, 0, 1);
  rounded(20, 40).post_op(UnaryOp::sigmoid).post_op(BinaryOp::add, {1, 40, 7, 5});
  residual(20, 40)
      .post_op(UnaryOp::relu)
      .post_op(UnaryOp::fake_quantize, kLevel, 0)
      .tolerance(kOneLevel, kRelative);
  set.add("dense")
      .input({9, 52})
      .constant({52, 70}, normal(0.1))
      .constant({70})
      .post_op(UnaryOp::fake_quantize, kLevel, -128)
      .post_op(BinaryOp::add, {9, 70})
      .post_op(UnaryOp::clip, -1, 1)
      .tolerance(kOneLevel, kRelative);
  // Activations between the sums and the rounding, and what takes several steps of one kind.
  residual(20, 40).post_op(UnaryOp::hard_sigmoid, 1.0f / 6, 0.5f);
  residual(20, 40).post_op(UnaryOp::hard_swish, 1.0f / 6, 0.5f);
  residual(20, 40).post_op(UnaryOp::sigmoid);
  residual(20, 40).post_op(UnaryOp::square);
  residual(20, 40).post_op(UnaryOp::linear, -0.5f, 0.75f);
  residual(20, 40).post_op(UnaryOp::linear, 0.5f, 0.25f).post_op(UnaryOp::clip, -1, 0.5f);
  residual(20, 40).post_op(UnaryOp::linear, -0.5f, 0.25f).post_op(UnaryOp::relu);
  residual(20, 40)
      .post_op(UnaryOp::linear, 2, 1)
      .post_op(UnaryOp::relu)
      .post_op(UnaryOp::linear, 3, -1);
  residual(20, 40).post_op(UnaryOp::leaky_relu, 0.1f).post_op(UnaryOp::leaky_relu, 0.5f);
  residual(20, 40).post_op(UnaryOp::sigmoid).post_op(BinaryOp::add, {1, 40, 7, 5});
  residual(20, 40)
      .post_op(BinaryOp::add, {1, 40, 7, 5})
      .post_op(UnaryOp::hard_sigmoid, 0.25f, 0.5f);
}

}  // namespace softneuro::test
