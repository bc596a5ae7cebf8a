// conv1, conv2, conv3: shapes around tile edges, all parameters, data types, post-ops.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

// A conv2 of `in` channels on height x width with `out` kernels; weights are scaled so that the
// output is of the input's magnitude.
Case& conv2(ProblemSet& set, std::int64_t in, std::int64_t out, std::int64_t height,
            std::int64_t width, std::int64_t kernel, std::int64_t group = 1,
            std::int64_t batch = 1) {
  const std::int64_t of_group = in / group;
  const auto depth = static_cast<double>(of_group * kernel * kernel);
  return set.add("conv2")
      .input({batch, in, height, width})
      .constant({out, in / group, kernel, kernel}, normal(1 / std::sqrt(depth)))
      .param("group", group);
}

// Small integers: every order of summation gives the same bits.
Case& exact_conv2(ProblemSet& set, std::int64_t in, std::int64_t out, std::int64_t height,
                  std::int64_t width, std::int64_t kernel, std::int64_t group = 1) {
  return set.add("conv2")
      .input({1, in, height, width}, integers())
      .constant({out, in / group, kernel, kernel}, integers())
      .constant({out}, integers())
      .param("group", group)
      .exact();
}

void add_known(ProblemSet& set) {
  // Row sums and columns of a 3x3 box over 1…9, padded by one.
  set.add("conv2")
      .input({1, 1, 3, 3}, explicit_values({1, 2, 3, 4, 5, 6, 7, 8, 9}))
      .constant({1, 1, 3, 3}, explicit_values({1}))
      .param("pads", {1, 1, 1, 1})
      .expect({12, 21, 16, 27, 45, 33, 24, 39, 28}, Shape{1, 1, 3, 3});
  // The kernel is not flipped.
  set.add("conv1")
      .input({1, 1, 4}, explicit_values({1, 10, 100, 1000}))
      .constant({1, 1, 2}, explicit_values({1, 2}))
      .constant({1}, explicit_values({5}))
      .expect({26, 215, 2105}, Shape{1, 1, 3});
  // Two groups of one channel; two kernels each.
  set.add("conv1")
      .input({1, 2, 2}, explicit_values({1, 2, 3, 4}))
      .constant({4, 1, 1}, explicit_values({1, 10, 1, 10}))
      .param("group", 2)
      .expect({1, 2, 10, 20, 3, 4, 30, 40}, Shape{1, 4, 2});
  // same_lower puts the odd element of padding in front, same_upper behind.
  for (const bool upper : {true, false})
    set.add("conv1")
        .input({1, 1, 4}, explicit_values({1, 2, 3, 4}))
        .constant({1, 1, 2}, explicit_values({1}))
        .param("auto_pad", upper ? "same_upper" : "same_lower")
        .expect(upper ? std::vector<double>{3, 5, 7, 4} : std::vector<double>{1, 3, 5, 7});
}

void add_tile_edges(ProblemSet& set) {
  for (const std::int64_t out : {1, 5, 6, 7, 13, 16, 17, 31, 48})
    exact_conv2(set, 3, out, 5, 7, 3).param("pads", {1, 1, 1, 1});
  for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65})
    exact_conv2(set, 4, 7, 3, width, 1);
  for (const std::int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 23})
    exact_conv2(set, 5, 8, size, size, 3).param("pads", {1, 1, 1, 1});
  for (const std::int64_t in : {1, 2, 15, 16, 17, 33})
    exact_conv2(set, in, 18, 6, 5, 3).param("pads", {1, 1, 1, 1});
  for (const std::int64_t out : {33, 47, 64, 65, 80, 97, 112, 130})
    exact_conv2(set, 5, out, 3, 5, 1);
  for (const std::int64_t in : {3, 7, 16})  // a row of the kernel at once, or each position
    for (const std::int64_t stride : {1, 2})
      exact_conv2(set, in, 20, 12, 11, 7)
          .param("strides", {stride, stride})
          .param("pads", {3, 3, 3, 3});
  // Deeper than one block of the sum.
  exact_conv2(set, 1500, 70, 3, 5, 1);
  exact_conv2(set, 300, 65, 4, 4, 3).param("pads", {1, 1, 1, 1});
  exact_conv2(set, 67, 9, 5, 5, 3);
  exact_conv2(set, 259, 20, 3, 3, 1);
  conv2(set, 64, 64, 14, 14, 3).param("pads", {1, 1, 1, 1});
  conv2(set, 128, 32, 7, 7, 1);
  conv2(set, 96, 50, 28, 28, 1);
  conv2(set, 3, 32, 37, 41, 3).param("strides", {2, 2}).param("pads", {1, 1, 1, 1});
}

void add_parameters(ProblemSet& set) {
  // Images of a few positions: rows of a product belong to several of them.
  for (const std::int64_t group : {1, 8})
    for (const std::int64_t stride : {1, 2})
      set.add("conv2")
          .input({7, 8, 5, 4})
          .constant({8, 8 / group, 3, 3}, normal(0.2))
          .constant({8})
          .param("group", group)
          .param("strides", {stride, stride})
          .param("pads", {1, 1, 1, 1});
  for (const std::int64_t kernel : {1, 2, 3, 5, 7})
    for (const std::int64_t stride : {1, 2, 3}) {
      exact_conv2(set, 3, 7, 11, 13, kernel).param("strides", {stride, stride});
      exact_conv2(set, 3, 7, 11, 13, kernel)
          .param("strides", {stride, 1})
          .param("pads", {kernel / 2, kernel - 1, 0, 1});
      for (const char* mode : {"same_upper", "same_lower", "valid"})
        exact_conv2(set, 2, 3, 9, 8, kernel).param("strides", {1, stride}).param("auto_pad", mode);
    }
  exact_conv2(set, 4, 6, 12, 10, 3).param("dilations", {2, 3}).param("pads", {2, 3, 2, 3});
  exact_conv2(set, 4, 6, 12, 10, 3).param("dilations", {3, 1}).param("strides", {2, 2});
  // More padding than kernel: whole windows of zeros.
  exact_conv2(set, 2, 3, 4, 4, 3).param("pads", {5, 4, 3, 6});
  // Kernels that are not square.
  set.add("conv2")
      .input({1, 6, 9, 12}, integers())
      .constant({10, 6, 1, 5}, integers())
      .param("pads", {0, 2, 0, 2})
      .exact();
  set.add("conv2")
      .input({1, 6, 9, 12}, integers())
      .constant({10, 6, 4, 1}, integers())
      .constant({10}, integers())
      .param("strides", {2, 3})
      .exact();
  // Windows as long as those of a spectrogram.
  for (const std::int64_t rows : {1, 3})
    for (const std::int64_t pad : {0, 300})
      set.add("conv2")
          .input({1, 1, 4, 1500}, integers())
          .constant({18, 1, rows, 700}, integers())
          .constant({18}, integers())
          .param("strides", {1, 160})
          .param("pads", {rows / 2, pad, rows / 2, pad})
          .exact();
  // Groups.
  for (const std::int64_t group : {2, 3, 6})
    exact_conv2(set, 12, 18, 7, 7, 3, group).param("pads", {1, 1, 1, 1});
  conv2(set, 24, 36, 9, 9, 1, 4);
  for (const std::int64_t width : {2, 4, 8, 16})  // channels of a group
    for (const std::int64_t groups : {8, 13})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t kernel : {3, 2})
          exact_conv2(set, width * groups, width * groups, 6, 19, kernel, groups)
              .param("strides", {stride, stride})
              .param("pads", {1, 1, 0, 1});
  exact_conv2(set, 24, 24, 8, 9, 3, 3).param("dilations", {2, 3}).param("pads", {2, 3, 2, 3});
  conv2(set, 32, 32, 7, 9, 3, 4, 2)
      .constant({32})
      .param("pads", {1, 1, 1, 1})
      .post_op(UnaryOp::relu);
  // Batches.
  conv2(set, 5, 9, 8, 6, 3, 1, 3).param("pads", {1, 1, 1, 1});
  conv2(set, 6, 6, 8, 6, 3, 6, 2).param("pads", {1, 1, 1, 1});
  conv2(set, 6, 6, 8, 6, 3, 1, 0).param("pads", {1, 1, 1, 1});  // of no image
  // Weights that are known at run time only.
  set.add("conv2")
      .input({2, 5, 7, 9})
      .input({8, 5, 3, 3}, normal(0.15))
      .input({8})
      .param("pads", {1, 1, 1, 1});
  set.add("conv2").input({1, 6, 7, 9}).input({6, 1, 3, 3}, normal(0.3)).param("group", 6);
}

void add_depthwise(ProblemSet& set) {
  for (const std::int64_t width : {1, 3, 4, 7, 8, 14, 15, 16, 17, 33})
    for (const std::int64_t stride : {1, 2})
      exact_conv2(set, 5, 5, 6, width, 3, 5)
          .param("strides", {stride, stride})
          .param("pads", {1, 1, 1, 1});
  for (const std::int64_t kernel : {1, 2, 5, 7})
    exact_conv2(set, 7, 7, 11, 12, kernel, 7)
        .param("pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
  // Whole vectors of channels, with and without a rest.
  for (const std::int64_t channels : {16, 17, 24, 40, 63, 72})
    for (const std::int64_t kernel : {3, 5, 7, 4})
      for (const std::int64_t stride : {1, 2})
        exact_conv2(set, channels, channels, 7, kernel == 3 ? 17 : 11, kernel, channels)
            .param("strides", {stride, stride})
            .param("pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
  // Blocks of output columns that divide the width, and that do not.
  for (const std::int64_t width : {1, 2, 3, 5, 7, 8, 9, 20, 30})
    for (const std::int64_t stride : {1, 2})
      exact_conv2(set, 33, 33, 4, width, 3, 33)
          .param("strides", {stride, stride})
          .param("pads", {1, 1, 1, 1});
  exact_conv2(set, 20, 20, 9, 12, 3, 20).param("dilations", {2, 3}).param("pads", {2, 3, 2, 3});
  exact_conv2(set, 40, 40, 9, 12, 3, 40).param("dilations", {3, 1}).param("pads", {3, 2, 1, 0});
  exact_conv2(set, 130, 130, 5, 6, 3, 130).param("pads", {1, 0, 2, 1});
  for (const std::int64_t channels : {24, 40})
    conv2(set, channels, channels, 9, 7, 3, channels, 2)
        .constant({channels})
        .param("pads", {1, 1, 1, 1})
        .post_op(BinaryOp::add, {2, channels, 9, 7})
        .post_op(UnaryOp::silu, 1);
  conv2(set, 70, 70, 9, 7, 5, 70).param("pads", {2, 2, 2, 2}).post_op(UnaryOp::relu);
  for (const std::int64_t channels : {18, 50})
    set.add("conv1")
        .input({2, channels, 31}, integers())
        .constant({channels, 1, 3}, integers())
        .constant({channels}, integers())
        .param("group", channels)
        .param("pads", {1, 1})
        .exact();
  for (const int channels : {2, 4, 8, 16})  // in each of three groups or more
    set.add("conv1")
        .input({2, 48, 29}, integers())
        .constant({48, channels, 3}, integers())
        .constant({48}, integers())
        .param("group", 48 / channels)
        .param("pads", {1, 1})
        .exact();
  exact_conv2(set, 4, 12, 9, 9, 3, 4).param("pads", {0, 1, 2, 3});  // three kernels per channel
  exact_conv2(set, 3, 3, 12, 11, 3, 3).param("dilations", {2, 3}).param("pads", {2, 3, 2, 3});
  exact_conv2(set, 3, 3, 12, 40, 3, 3).param("strides", {3, 3});
  exact_conv2(set, 2, 2, 3, 4, 3, 2).param("pads", {4, 4, 4, 4});
  conv2(set, 32, 32, 14, 14, 3, 32)
      .constant({32})
      .param("pads", {1, 1, 1, 1})
      .post_op(UnaryOp::clip, 0, 6);
}

void add_post_ops(ProblemSet& set) {
  const Shape y{2, 9, 6, 5};
  const auto base = [&]() -> Case& {
    return conv2(set, 4, 9, 6, 5, 3, 1, 2).constant({9}).param("pads", {1, 1, 1, 1});
  };
  base().post_op(UnaryOp::relu);
  base().post_op(UnaryOp::clip, 0, 6);
  base().post_op(UnaryOp::silu, 1);
  base().post_op(UnaryOp::hard_swish, 1.0f / 6, 0.5f);
  base().post_op(BinaryOp::add, y).post_op(UnaryOp::relu);
  base().post_op(BinaryOp::mul, {9, 1, 1}).post_op(BinaryOp::add, {1, 9, 1, 1});
  base().post_op(BinaryOp::prelu, {9, 1, 1});
  base().post_op(BinaryOp::sub, {1}, true).post_op(BinaryOp::max, {5});
  conv2(set, 9, 9, 6, 5, 1, 9, 2).post_op(BinaryOp::add, y).post_op(UnaryOp::relu);
  conv2(set, 4, 9, 6, 5, 3, 1, 2).param("pads", {1, 1, 1, 1}).post_op(BinaryOp::add, {9, 1, 1});
  conv2(set, 16, 9, 6, 5, 1, 1, 2).constant({9}).post_op(BinaryOp::add, y);
  conv2(set, 16, 9, 6, 5, 1, 1, 2).post_op(BinaryOp::add, y).post_op(UnaryOp::clip, 1, 6);
  conv2(set, 16, 9, 6, 5, 1, 1, 2)
      .post_op(BinaryOp::add, y)
      .post_op(BinaryOp::add, y)
      .post_op(UnaryOp::hard_swish, 1.0f / 6, 0.5f);
  conv2(set, 32, 48, 6, 5, 3, 2).param("pads", {1, 1, 1, 1}).post_op(UnaryOp::silu, 1);
  conv2(set, 6, 9, 6, 5, 1, 3, 2).post_op(BinaryOp::add, y).post_op(UnaryOp::leaky_relu, 0.1f);
}

// Several blocks of tiles, and more outputs than are multiplied at a time; with post-ops of every
// kind of ending.
void add_many_tiles(ProblemSet& set) {
  for (const std::int64_t kernel : {3, 5}) {
    const std::vector<std::int64_t> pads(4, kernel / 2);
    const auto base = [&](std::int64_t in, std::int64_t out) -> Case& {
      return conv2(set, in, out, 13, 18, kernel, 1, 2).constant({out}).param("pads", pads);
    };
    const auto like_output = [](std::int64_t out) { return Shape{2, out, 13, 18}; };
    base(19, 49);
    base(16, 48).post_op(UnaryOp::relu);
    base(32, 32).post_op(BinaryOp::add, like_output(32)).post_op(UnaryOp::relu);
    base(8, 97).post_op(BinaryOp::add, like_output(97)).post_op(UnaryOp::clip, -0.5f, 1);
    base(8, 97).post_op(BinaryOp::mul, {97, 1, 1}).post_op(UnaryOp::relu);
    base(17, 33).post_op(UnaryOp::relu).post_op(BinaryOp::add, like_output(33));
    conv2(set, 128, 144, 6, 7, kernel).constant({144}).param("pads", pads).post_op(UnaryOp::relu);
    base(17, 33).post_op(UnaryOp::clip, 0.5f, 2);  // what pads a block must still be zero
  }
}

void add_other_ranks(ProblemSet& set) {
  for (const std::int64_t width : {3, 16, 17, 50}) {
    set.add("conv1")
        .input({2, 3, width}, integers())
        .constant({7, 3, 3}, integers())
        .constant({7}, integers())
        .param("pads", {1, 1})
        .exact();
    set.add("conv1")
        .input({1, 4, width}, integers())
        .constant({4, 1, 2}, integers())
        .param("group", 4)
        .param("strides", {2})
        .exact();
  }
  set.add("conv1").input({1, 8, 40}).constant({6, 8, 1}, normal(0.3)).post_op(UnaryOp::tanh);
  set.add("conv3")
      .input({1, 3, 5, 6, 7}, integers())
      .constant({4, 3, 3, 3, 3}, integers())
      .constant({4}, integers())
      .param("pads", {1, 1, 1, 1, 1, 1})
      .exact();
  set.add("conv3")
      .input({2, 4, 6, 5, 9}, integers())
      .constant({6, 2, 2, 3, 1}, integers())
      .param("group", 2)
      .param("strides", {2, 1, 3})
      .param("dilations", {1, 2, 1})
      .param("pads", {0, 1, 2, 1, 0, 0})
      .exact();
  set.add("conv3").input({1, 5, 2, 3, 4}).constant({7, 5, 1, 1, 1}, normal(0.4));
}

void add_data_types(ProblemSet& set) {
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64}) {
    set.add("conv2")
        .of(type)
        .input({1, 6, 7, 9})
        .constant({5, 6, 3, 3}, normal(0.14))
        .constant({5})
        .param("pads", {1, 1, 1, 1})
        .post_op(UnaryOp::relu);
    set.add("conv2").of(type).input({1, 20, 7, 9}).constant({17, 20, 1, 1}, normal(0.2));
    set.add("conv2")
        .of(type)
        .input({1, 6, 7, 9})
        .constant({6, 1, 3, 3}, normal(0.3))
        .param("group", 6);
  }
  for (const DataType type : {DataType::int32, DataType::int8, DataType::uint8, DataType::int64})
    set.add("conv2")
        .of(type)
        .input({1, 3, 5, 5}, integers(0, 5))
        .constant({2, 3, 3, 3}, integers(0, 2))
        .constant({2}, integers(0, 9));
}

}  // namespace

void add_problems_conv(ProblemSet& set) {
  add_known(set);
  add_tile_edges(set);
  add_parameters(set);
  add_depthwise(set);
  add_post_ops(set);
  add_many_tiles(set);
  add_other_ranks(set);
  add_data_types(set);
}

}  // namespace softneuro::test
