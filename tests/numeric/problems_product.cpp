// dense and matmul.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

Case& dense(ProblemSet& set, Shape x, std::int64_t columns, bool transpose = false) {
  const std::int64_t depth = x[x.rank() - 1];
  return set.add("dense")
      .input(x, integers())
      .constant(transpose ? Shape{columns, depth} : Shape{depth, columns}, integers())
      .constant({columns}, integers())
      .param("transpose_weights", transpose ? 1 : 0)
      .exact();
}

void add_dense(ProblemSet& set) {
  set.add("dense")
      .input({2, 3}, explicit_values({1, 2, 3, 4, 5, 6}))
      .constant({3, 2}, explicit_values({1, 10, 2, 20, 3, 30}))
      .constant({2}, explicit_values({0.5, -1}))
      .expect({14.5, 139, 32.5, 319}, Shape{2, 2});
  set.add("dense")
      .input({3}, explicit_values({1, 2, 3}))
      .constant({2, 3}, explicit_values({1, 2, 3, 10, 20, 30}))
      .param("transpose_weights", 1)
      .expect({14, 140}, Shape{2});
  for (const bool transpose : {false, true}) {
    for (const std::int64_t rows : {1, 2, 5, 6, 7, 12, 13, 37})
      dense(set, {rows, 19}, 23, transpose);
    for (const std::int64_t columns : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129})
      dense(set, {1, 37}, columns, transpose);
    for (const std::int64_t depth : {1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 513, 1030})
      dense(set, {3, depth}, 9, transpose);
    for (const std::int64_t depth : {1, 3, 4, 5, 255, 256, 257, 1030})
      dense(set, {1, depth}, 50, transpose);
    dense(set, {11}, 5, transpose);
    dense(set, {2, 3, 4, 11}, 5, transpose);
    dense(set, {0, 11}, 5, transpose);
    set.add("dense")
        .input({7, 200})
        .constant(transpose ? Shape{90, 200} : Shape{200, 90}, normal(0.07))
        .param("transpose_weights", transpose ? 1 : 0)
        .post_op(UnaryOp::gelu)
        .post_op(BinaryOp::add, {7, 90});
    set.add("dense")
        .input({5, 30})
        .input(transpose ? Shape{21, 30} : Shape{30, 21}, normal(0.2))  // known at run time only
        .input({21})
        .param("transpose_weights", transpose ? 1 : 0)
        .post_op(UnaryOp::relu);
  }
  set.add("dense")
      .input({1, 64})
      .constant({64, 10}, normal(0.1))
      .constant({10})
      .post_op(BinaryOp::mul, {10})
      .post_op(UnaryOp::sigmoid);
  set.add("dense")
      .input({4, 0})
      .constant({0, 3})
      .constant({3}, explicit_values({1.5, -2, 0.25}))
      .expect({1.5, -2, 0.25, 1.5, -2, 0.25, 1.5, -2, 0.25, 1.5, -2, 0.25});
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
    for (const std::int64_t rows : {1, 9})
      set.add("dense")
          .of(type)
          .input({rows, 40})
          .constant({40, 18}, normal(0.15))
          .constant({18})
          .post_op(UnaryOp::relu);
  for (const DataType type : {DataType::int32, DataType::int8, DataType::uint64})
    set.add("dense").of(type).input({3, 5}, integers(0, 3)).constant({5, 4}, integers(0, 3));
}

Case& matmul(ProblemSet& set, Shape a, Shape b) {
  return set.add("matmul").input(a, integers()).input(b, integers()).exact();
}

void add_matmul_shapes(ProblemSet& set) {
  for (const std::int64_t rows : {1, 2, 5, 6, 7, 11, 12, 13, 25})
    for (const std::int64_t columns : {1, 7, 15, 16, 17, 33, 65})
      matmul(set, {rows, 19}, {19, columns});
  for (const std::int64_t depth : {1, 2, 255, 256, 257, 520}) {
    matmul(set, {7, depth}, {depth, 18});
    matmul(set, {1, depth}, {depth, 33});
    matmul(set, {40, depth}, {depth, 1});
  }
  // Vectors and broadcast batches.
  matmul(set, {5}, {5});
  matmul(set, {5}, {5, 3});
  matmul(set, {4, 5}, {5});
  matmul(set, {2, 3, 4, 5}, {5});
  matmul(set, {5}, {2, 3, 5, 4});
  matmul(set, {3, 4, 5}, {5, 6});
  matmul(set, {4, 5}, {3, 5, 6});
  matmul(set, {2, 1, 4, 5}, {3, 5, 6});
  matmul(set, {2, 3, 7, 8}, {2, 3, 8, 9});
  matmul(set, {1, 3, 7, 8}, {2, 1, 8, 17});
  matmul(set, {2, 1, 2, 1, 3, 4}, {2, 1, 5, 4, 3});
  // Whole panels, which can be read in place, with many rows; products that share an operand.
  matmul(set, {3, 40, 21}, {3, 21, 80});
  matmul(set, {2, 1, 40, 21}, {2, 5, 21, 144});
  matmul(set, {3, 1, 40, 21}, {1, 4, 21, 96}).param("transpose_a", 0);
  matmul(set, {2, 3, 21, 40}, {1, 3, 21, 33}).param("transpose_a", 1);
  matmul(set, {0, 5}, {5, 4});
  matmul(set, {0, 3, 5}, {5, 4});
  matmul(set, {4, 0}, {0, 3});
  for (const std::int64_t ta : {0, 1})
    for (const std::int64_t tb : {0, 1})
      for (const std::int64_t rows : {1, 6, 23}) {
        const Shape a = ta != 0 ? Shape{2, 14, rows} : Shape{2, rows, 14};
        const Shape b = tb != 0 ? Shape{2, 37, 14} : Shape{2, 14, 37};
        matmul(set, a, b).param("transpose_a", ta).param("transpose_b", tb);
      }
}

}  // namespace

void add_problems_product(ProblemSet& set) {
  add_dense(set);
  set.add("matmul")
      .input({2, 2}, explicit_values({1, 2, 3, 4}))
      .input({2, 3}, explicit_values({1, 2, 3, 4, 5, 6}))
      .expect({9, 12, 15, 19, 26, 33}, Shape{2, 3});
  add_matmul_shapes(set);
  // Constant weights on either side; real numbers.
  set.add("matmul").input({3, 50, 64}).constant({64, 40}, normal(0.12)).post_op(UnaryOp::relu);
  set.add("matmul").constant({30, 64}, normal(0.12)).input({2, 64, 21});
  set.add("matmul")
      .input({2, 4, 33, 32}, normal(0.18))
      .input({2, 4, 33, 32})
      .param("transpose_b", 1)
      .post_op(UnaryOp::linear, 0.125f, 0)
      .post_op(BinaryOp::add, {2, 1, 1, 33});
  // A factor that is no power of two, then a clamp; A is copied, in several batches.
  set.add("matmul")
      .input({8, 32, 29}, normal(0.18))
      .input({8, 32, 19})
      .param("transpose_a", 1)
      .post_op(UnaryOp::linear, 0.3f, 0)
      .post_op(UnaryOp::clip, -0.25f, 0.25f);
  set.add("matmul")
      .input({4, 30, 40}, normal(0.15))
      .input({40, 80})
      .post_op(BinaryOp::add, {4, 30, 80});
  set.add("matmul").input({1, 300}, normal(0.06)).input({300, 70}).post_op(BinaryOp::mul, {70});
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
    for (const std::int64_t rows : {1, 9})
      set.add("matmul").of(type).input({2, rows, 40}).input({40, 18}, normal(0.15));
  for (const DataType type : {DataType::int32, DataType::uint32, DataType::int64, DataType::uint64,
                              DataType::int8, DataType::uint8})
    set.add("matmul").of(type).input({3, 5}, integers(0, 3)).input({5, 4}, integers(0, 3));
}

}  // namespace softneuro::test
