#include <cmath>

#include "core/graph/elementwise.h"
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

Case& unary(ProblemSet& set, UnaryOp op, DataType type, double alpha = 0, double beta = 0) {
  return set.add("unary")
      .of(type)
      .param("op", to_string(op))
      .param("alpha", ParamValue(alpha))
      .param("beta", ParamValue(beta));
}

void expect_float(ProblemSet& set, UnaryOp op, std::vector<double> x, std::vector<double> y,
                  double alpha = 0, double beta = 0) {
  const auto count = static_cast<std::int64_t>(x.size());
  unary(set, op, DataType::float32, alpha, beta).input({count}, explicit_values(x)).expect(y);
}

void add_activations(ProblemSet& set) {
  const double e1 = std::exp(-1.0);
  expect_float(set, UnaryOp::relu, {-2, 0, 3, NAN, INFINITY}, {0, 0, 3, NAN, INFINITY});
  expect_float(set, UnaryOp::leaky_relu, {-2, 3}, {-0.5, 3}, 0.25);
  expect_float(set, UnaryOp::elu, {-1, 2}, {3 * (e1 - 1), 2}, 3);
  expect_float(set, UnaryOp::selu, {-1, 2}, {2 * 3 * (e1 - 1), 4}, 3, 2);
  expect_float(set, UnaryOp::celu, {-2, 2}, {2 * (e1 - 1), 2}, 2);
  expect_float(set, UnaryOp::thresholded_relu, {0.5, 1, 1.5, NAN}, {0, 0, 1.5, 0}, 1);
  expect_float(set, UnaryOp::sigmoid, {0, -100, 100, 1}, {0.5, 0, 1, 1 / (1 + e1)});
  expect_float(set, UnaryOp::hard_sigmoid, {-10, 0, 1, 10}, {0, 0.5, 0.75, 1}, 0.25, 0.5);
  expect_float(set, UnaryOp::tanh, {0, 1, -1, 50}, {0, 0.761594155956, -0.761594155956, 1});
  expect_float(set, UnaryOp::softplus, {0, 200, -200}, {0.693147180560, 200, 0});
  expect_float(set, UnaryOp::softsign, {1, -3, INFINITY}, {0.5, -0.75, 1});
  expect_float(set, UnaryOp::hard_swish, {-4, -1, 0, 1, 4}, {0, -0.25, 0, 0.75, 4}, 0.25, 0.5);
  expect_float(set, UnaryOp::silu, {1, -1}, {1 / (1 + e1), -e1 / (1 + e1)}, 1);
  expect_float(set, UnaryOp::gelu, {1, -1, 0}, {0.841344746069, -0.158655253931, 0});
  expect_float(set, UnaryOp::gelu_tanh, {1, -1}, {0.841191990608, -0.158808009392});
  expect_float(set, UnaryOp::mish, {0, 1, -1}, {0, 0.865098388267, -0.303401461373});
  expect_float(set, UnaryOp::clip, {-3, 0.5, 9, NAN}, {-1, 0.5, 6, NAN}, -1, 6);
  expect_float(set, UnaryOp::clip, {-3, 3}, {1, 1}, 2, 1);  // the upper limit wins
  expect_float(set, UnaryOp::shrink, {-2, -1, 0.5, 2, NAN}, {-1.5, 0, 0, 1.5, 0}, 1, 0.5);
}

void add_arithmetic(ProblemSet& set) {
  expect_float(set, UnaryOp::abs, {-2.5, 2.5}, {2.5, 2.5});
  expect_float(set, UnaryOp::neg, {-2.5, 0}, {2.5, 0});
  expect_float(set, UnaryOp::sign, {-7, 0, 7, NAN}, {-1, 0, 1, NAN});
  expect_float(set, UnaryOp::reciprocal, {4, -0.5, 0}, {0.25, -2, INFINITY});
  expect_float(set, UnaryOp::sqrt, {4, 2, -1}, {2, 1.41421356237, NAN});
  expect_float(set, UnaryOp::exp, {0, 1, 1000, -1000}, {1, 2.71828182846, INFINITY, 0});
  expect_float(set, UnaryOp::log, {1, 0, -1, 10}, {0, -INFINITY, NAN, 2.30258509299});
  expect_float(set, UnaryOp::erf, {0, 0.5, -2, 9}, {0, 0.520499877813, -0.995322265019, 1});
  expect_float(set, UnaryOp::floor, {-1.5, 1.5, 2}, {-2, 1, 2});
  expect_float(set, UnaryOp::ceil, {-1.5, 1.5, 2}, {-1, 2, 2});
  expect_float(set, UnaryOp::round, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6},
               {-2, -2, 0, 0, 2, 2, 3});
  expect_float(set, UnaryOp::square, {-3, 1.5}, {9, 2.25});
  expect_float(set, UnaryOp::linear, {-3, 1.5}, {-5, 4}, 2, 1);
  expect_float(set, UnaryOp::atan, {1, -1}, {0.785398163397, -0.785398163397});
  expect_float(set, UnaryOp::acosh, {1, 0.5}, {0, NAN});
}

void add_integers(ProblemSet& set) {
  using enum DataType;
  unary(set, UnaryOp::abs, int8).input({3}, explicit_values({-128, -5, 5})).expect({-128, 5, 5});
  unary(set, UnaryOp::neg, int32).input({2}, explicit_values({-7, 7})).expect({7, -7});
  unary(set, UnaryOp::neg, uint8).input({2}, explicit_values({0, 1})).expect({0, 255});
  unary(set, UnaryOp::relu, int16).input({2}, explicit_values({-7, 7})).expect({0, 7});
  unary(set, UnaryOp::sign, int64).input({3}, explicit_values({-7, 0, 7})).expect({-1, 0, 1});
  unary(set, UnaryOp::sign, uint64).input({1}, explicit_values({1e18})).expect({1});
  unary(set, UnaryOp::clip, int32, -INFINITY, 5)
      .input({3}, explicit_values({-2147483648.0, 5, 9}))
      .expect({-2147483648.0, 5, 5});
  unary(set, UnaryOp::square, uint8).input({2}, explicit_values({15, 16})).expect({225, 0});
  unary(set, UnaryOp::linear, int32, 2, 1).input({2}, explicit_values({-3, 4})).expect({-5, 9});
  unary(set, UnaryOp::bitwise_not, uint8).input({2}, explicit_values({0, 15})).expect({255, 240});
  unary(set, UnaryOp::bitwise_not, int32).input({2}, explicit_values({0, -8})).expect({-1, 7});
  unary(set, UnaryOp::logical_not, boolean).input({2}, explicit_values({0, 1})).expect({1, 0});
  unary(set, UnaryOp::floor, int64).input({2}, explicit_values({-3, 4})).expect({-3, 4});
}

void add_predicates(ProblemSet& set) {
  const Fill fill = explicit_values({1, NAN, INFINITY, -INFINITY});
  for (const DataType type : {DataType::float32, DataType::float16, DataType::float64}) {
    unary(set, UnaryOp::is_nan, type).input({4}, fill).expect({0, 1, 0, 0});
    unary(set, UnaryOp::is_inf, type, 1, 1).input({4}, fill).expect({0, 0, 1, 1});
    unary(set, UnaryOp::is_inf, type, 1, 0).input({4}, fill).expect({0, 0, 0, 1});
    unary(set, UnaryOp::is_inf, type, 0, 1).input({4}, fill).expect({0, 0, 1, 0});
  }
}

// Every real function in every real type: around the edges of vectors and chunks, with padding in
// blocked layouts, and on infinities, NaN and the like.
void add_forms(ProblemSet& set) {
  for (int i = 0; i < static_cast<int>(UnaryOp::logical_not); ++i) {
    const auto op = static_cast<UnaryOp>(i);
    const double alpha = op == UnaryOp::clip ? -0.7 : 0.3, beta = 0.9;
    unary(set, op, DataType::float32, alpha, beta).input({2, 19, 3, 5}, normal(2));
    unary(set, op, DataType::float32, alpha, beta).input({400}, specials());
    for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
      unary(set, op, type, alpha, beta).input({3, 5, 7}, normal(2));
  }
  for (const std::int64_t size : {0, 1, 3, 7, 8, 9, 15, 16, 17, 4095, 4096, 4097, 20011})
    for (const UnaryOp op : {UnaryOp::leaky_relu, UnaryOp::sigmoid})
      for (const DataType type : {DataType::float32, DataType::float16})
        unary(set, op, type, 0.1).input({size}, normal(2));
  unary(set, UnaryOp::exp, DataType::float32).input({}, explicit_values({1}));
}

void add_post_ops(ProblemSet& set) {
  unary(set, UnaryOp::relu, DataType::float32)
      .input({1, 2}, explicit_values({-1, 2}))
      .post_op(BinaryOp::sub, {2}, true, explicit_values({10, 20}))
      .post_op(UnaryOp::neg)
      .expect({-10, -18});
  for (const DataType type : {DataType::float32, DataType::float16, DataType::float64}) {
    unary(set, UnaryOp::sigmoid, type)
        .input({2, 19, 9, 31})
        .post_op(BinaryOp::mul, {2, 19, 9, 31})
        .post_op(BinaryOp::add, {19, 1, 1})
        .post_op(UnaryOp::tanh);
    unary(set, UnaryOp::logical_not, DataType::boolean)
        .input({5}, explicit_values({0, 1, 0, 0, 1}))
        .post_op(UnaryOp::logical_not)
        .expect({0, 1, 0, 0, 1});
  }
  unary(set, UnaryOp::abs, DataType::int32)
      .input({3, 4}, integers(-9, 9))
      .post_op(BinaryOp::add, {4}, false, integers(-9, 9))
      .post_op(BinaryOp::max, {1}, false, integers(0, 0));
}

}  // namespace

void add_problems_unary(ProblemSet& set) {
  add_activations(set);
  add_arithmetic(set);
  add_integers(set);
  add_predicates(set);
  add_forms(set);
  add_post_ops(set);
}

}  // namespace softneuro::test
