// conv_transpose1, conv_transpose2, conv_transpose3.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

Case& exact(ProblemSet& set, std::int64_t in, std::int64_t out, std::int64_t height,
            std::int64_t width, std::int64_t kernel, std::int64_t group = 1,
            std::int64_t batch = 1) {
  return set.add("conv_transpose2")
      .input({batch, in, height, width}, integers())
      .constant({in, out / group, kernel, kernel}, integers())
      .constant({out}, integers())
      .param("group", group)
      .exact();
}

void add_known(ProblemSet& set) {
  // Two inputs, a kernel of three, stride two: they overlap in one element.
  set.add("conv_transpose1")
      .input({1, 1, 2}, explicit_values({1, 10}))
      .constant({1, 1, 3}, explicit_values({1, 2, 3}))
      .param("strides", {2})
      .expect({1, 2, 13, 20, 30}, Shape{1, 1, 5});
  // The operator's documentation: 3x3 of 0…8, two channels of ones.
  set.add("conv_transpose2")
      .input({1, 1, 3, 3}, explicit_values({0, 1, 2, 3, 4, 5, 6, 7, 8}))
      .constant({1, 2, 3, 3}, explicit_values({1}))
      .expect(
          {0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8,
           0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8},
          Shape{1, 2, 5, 5});
  // A wanted output of six where five are reached: padding of −1 is none, the last stays zero.
  set.add("conv_transpose1")
      .input({1, 1, 2}, explicit_values({1, 10}))
      .constant({1, 1, 3}, explicit_values({1, 2, 3}))
      .param("strides", {2})
      .param("output_shape", {6})
      .expect({1, 2, 13, 20, 30, 0}, Shape{1, 1, 6});
  // One element of padding in all: in front unless auto_pad is same_upper.
  set.add("conv_transpose1")
      .input({1, 1, 2}, explicit_values({1, 10}))
      .constant({1, 1, 3}, explicit_values({1, 2, 3}))
      .param("strides", {2})
      .param("output_shape", {4})
      .expect({2, 13, 20, 30}, Shape{1, 1, 4});
  set.add("conv_transpose1")
      .input({1, 1, 2}, explicit_values({1, 10}))
      .constant({1, 1, 3}, explicit_values({1, 2, 3}))
      .param("strides", {2})
      .param("auto_pad", "same_upper")
      .expect({1, 2, 13, 20}, Shape{1, 1, 4});
}

void add_parameters(ProblemSet& set) {
  for (const std::int64_t kernel : {1, 2, 3, 4, 5})
    for (const std::int64_t stride : {1, 2, 3}) {
      exact(set, 3, 7, 5, 6, kernel).param("strides", {stride, stride});
      exact(set, 3, 5, 4, 7, kernel)
          .param("strides", {stride, 1})
          .param("pads", {kernel / 2, 0, (kernel - 1) / 2, 0});
      exact(set, 2, 4, 6, 5, kernel).param("strides", {1, stride}).param("auto_pad", "same_lower");
    }
  exact(set, 4, 6, 5, 4, 3).param("dilations", {2, 3}).param("pads", {1, 2, 2, 1});
  exact(set, 4, 6, 5, 4, 3).param("strides", {2, 2}).param("output_padding", {1, 1});
  exact(set, 4, 6, 5, 4, 3).param("strides", {3, 2}).param("output_shape", {17, 10});
  exact(set, 4, 6, 3, 3, 4).param("pads", {2, 2, 2, 1});
  for (const std::int64_t group : {2, 3, 6}) exact(set, 6, 12, 5, 5, 3, group, 2);
  exact(set, 6, 6, 5, 9, 4, 6).param("strides", {2, 2}).param("pads", {1, 1, 1, 1});
  for (const std::int64_t size : {1, 15, 16, 17, 31}) exact(set, 5, 7, 3, size, 2);
  exact(set, 67, 20, 5, 5, 3);
  exact(set, 300, 3, 3, 4, 2).param("strides", {2, 2});
  set.add("conv_transpose2")
      .input({2, 32, 13, 13})
      .constant({32, 24, 4, 4}, normal(0.1))
      .constant({24})
      .param("strides", {2, 2})
      .param("pads", {1, 1, 1, 1})
      .post_op(UnaryOp::leaky_relu, 0.2f);
  set.add("conv_transpose2")
      .input({1, 4, 5, 6})
      .input({4, 3, 3, 3}, normal(0.2))  // weights known at run time only
      .param("strides", {2, 2})
      .post_op(BinaryOp::add, {1, 3, 11, 13})
      .post_op(UnaryOp::relu);
}

void add_ranks_and_types(ProblemSet& set) {
  set.add("conv_transpose1")
      .input({2, 3, 17}, integers())
      .constant({3, 5, 4}, integers())
      .param("strides", {3})
      .param("pads", {2, 1})
      .exact();
  set.add("conv_transpose3")
      .input({1, 4, 3, 4, 5}, integers())
      .constant({4, 3, 2, 3, 3}, integers())
      .param("strides", {1, 2, 3})
      .param("dilations", {2, 1, 1})
      .param("pads", {0, 1, 1, 1, 0, 2})
      .exact();
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
    set.add("conv_transpose2")
        .of(type)
        .input({1, 5, 4, 6})
        .constant({5, 3, 3, 3}, normal(0.2))
        .constant({3})
        .param("strides", {2, 1})
        .post_op(UnaryOp::relu);
}

}  // namespace

void add_problems_conv_transpose(ProblemSet& set) {
  add_known(set);
  add_parameters(set);
  add_ranks_and_types(set);
}

}  // namespace softneuro::test
