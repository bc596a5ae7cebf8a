// reduce, arg_reduce, cumsum, topk.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

constexpr const char* kOps[] = {"sum", "mean", "max",     "min",         "prod",
                                "l1",  "l2",   "log_sum", "log_sum_exp", "sum_square"};

Case& reduce(ProblemSet& set, const char* op, DataType type = DataType::float32) {
  return set.add("reduce").of(type).param("op", op);
}

void add_reduce_values(ProblemSet& set) {
  const Fill x = explicit_values({1, -2, 3, 4, -5, 6});
  const auto rows = [&](const char* op, std::vector<double> y) {
    reduce(set, op).input({2, 3}, x).value({1}).expect(y, Shape{2, 1});
    reduce(set, op).input({2, 3}, x).value({-1}).param("keepdims", 0).expect(y, Shape{2});
  };
  rows("sum", {2, 5});
  rows("mean", {2.0 / 3, 5.0 / 3});
  rows("max", {3, 6});
  rows("min", {-2, -5});
  rows("prod", {-6, -120});
  rows("l1", {6, 15});
  rows("l2", {std::sqrt(14.0), std::sqrt(77.0)});
  rows("log_sum", {std::log(2.0), std::log(5.0)});
  rows("sum_square", {14, 77});
  rows("log_sum_exp", {std::log(std::exp(1) + std::exp(-2) + std::exp(3)),
                       std::log(std::exp(4) + std::exp(-5) + std::exp(6))});
  reduce(set, "sum").input({2, 3}, x).value({0}).expect({5, -7, 9}, Shape{1, 3});
  reduce(set, "sum").input({2, 3}, x).expect({7}, Shape{1, 1});
  reduce(set, "sum").input({2, 3}, x).value({}).param("keepdims", 0).expect({7}, Shape{});
  reduce(set, "sum")
      .input({2, 3}, x)
      .value({})
      .param("noop_with_empty_axes", 1)
      .expect({1, -2, 3, 4, -5, 6}, Shape{2, 3});
  reduce(set, "sum_square").input({2}, x).param("noop_with_empty_axes", 1).expect({1, 4});
  reduce(set, "log_sum_exp").input({2}, explicit_values({1000, 1000})).expect({1000.693147});
  reduce(set, "log_sum_exp").input({2}, explicit_values({-INFINITY})).expect({-INFINITY});
  reduce(set, "max").input({3}, explicit_values({1, NAN, 2})).expect({NAN});
  reduce(set, "min").input({3}, explicit_values({1, NAN, 2})).expect({NAN});
  reduce(set, "l2").input({2}, explicit_values({3e30, 4e30})).expect({5e30});
  reduce(set, "l2").input({2}, explicit_values({3e-30, 4e-30})).expect({5e-30}).tolerance(0, 1e-5);
  // Nothing to reduce.
  reduce(set, "sum").input({2, 0}).value({1}).expect({0, 0});
  reduce(set, "prod").input({2, 0}).value({1}).expect({1, 1});
  reduce(set, "max").input({2, 0}).value({1}).expect({-INFINITY, -INFINITY});
  reduce(set, "min").input({2, 0}).value({1}).expect({INFINITY, INFINITY});
  reduce(set, "mean").input({2, 0}).value({1}).expect({NAN, NAN});
  reduce(set, "max", DataType::int8).input({1, 0}).value({1}).expect({-128});
}

void add_reduce_integers(ProblemSet& set) {
  using enum DataType;
  const Fill x = explicit_values({3, -4, -6});
  reduce(set, "sum", int32).input({3}, x).expect({-7});
  reduce(set, "mean", int32).input({3}, x).expect({-2});
  reduce(set, "prod", int64).input({3}, x).expect({72});
  reduce(set, "l1", int32).input({3}, x).expect({13});
  reduce(set, "sum_square", int32).input({3}, x).expect({61});
  reduce(set, "max", int8).input({3}, x).expect({3});
  reduce(set, "min", int16).input({3}, x).expect({-6});
  reduce(set, "l2", int32).input({2}, explicit_values({3, 4})).expect({5});
  reduce(set, "sum", uint8).input({2}, explicit_values({200, 100})).expect({44});
  reduce(set, "max", boolean)
      .input({2, 2}, explicit_values({0, 0, 0, 1}))
      .value({1})
      .expect({0, 1});
  reduce(set, "min", boolean)
      .input({2, 2}, explicit_values({1, 1, 0, 1}))
      .value({1})
      .expect({1, 0});
  reduce(set, "max", uint64).input({2}, explicit_values({5, 0x1p62})).expect({0x1p62});
}

void add_reduce_forms(ProblemSet& set) {
  for (const char* op : kOps) {
    const bool positive = std::string(op) == "log_sum";
    const Fill fill = positive ? uniform(0.1, 2) : normal();
    const std::vector<std::int64_t> all_axes[] = {{0},    {1},    {2},    {3},       {2, 3},
                                                  {0, 1}, {0, 2}, {1, 3}, {1, 2, 3}, {0, 1, 2, 3}};
    for (const auto& axes : all_axes)
      for (const int keepdims : {0, 1})
        reduce(set, op).input({2, 19, 5, 7}, fill).value(axes).param("keepdims", keepdims);
    for (const std::int64_t size : {1, 7, 8, 15, 16, 17, 65, 1030, 70001}) {
      reduce(set, op).input({size}, fill).value({0}).tolerance(1e-5, 1e-3);
      reduce(set, op).input({3, size}, fill).value({0});
    }
    reduce(set, op).input({3, 1030}, fill).value({1}).tolerance(1e-5, 1e-3);
    reduce(set, op).input({1, 3, 1, 4, 1}, fill).value({1, 2});
    reduce(set, op).input({2, 16, 3, 3}, fill).value({2, 3}).post_op(UnaryOp::sigmoid);
    reduce(set, op).input({}, fill);
    for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
      reduce(set, op, type).input({2, 3, 4}, fill).value({1});
  }
  for (const char* op : {"max", "min", "l1", "log_sum_exp"}) {
    reduce(set, op).input({40, 7}, specials()).value({0});
    reduce(set, op).input({40, 7}, specials()).value({1});
  }
  reduce(set, "mean").input({2, 3, 150, 150}, uniform(0, 1)).value({2, 3});
}

void add_arg_reduce(ProblemSet& set) {
  const Fill x = explicit_values({2, 5, 5, 1, 1, 0});
  const auto arg = [&](const char* op) -> Case& {
    return set.add("arg_reduce").param("op", op).input({2, 3}, x);
  };
  arg("max").param("axis", 1).expect({1, 0}, Shape{2, 1});
  arg("max")
      .param("axis", 1)
      .param("select_last_index", 1)
      .param("keepdims", 0)
      .expect({2, 1}, Shape{2});
  arg("min").param("axis", -1).expect({0, 2});
  arg("max").expect({0, 0, 0}, Shape{1, 3});
  set.add("arg_reduce")
      .param("op", "min")
      .input({4}, explicit_values({1, NAN, -3, NAN}))
      .expect({1});
  set.add("arg_reduce")
      .param("op", "max")
      .param("select_last_index", 1)
      .input({4}, explicit_values({1, NAN, 3, NAN}))
      .expect({3});
  for (const char* op : {"max", "min"})
    for (const int last : {0, 1}) {
      for (const int axis : {0, 1, 2})
        for (const DataType type : {DataType::float32, DataType::float16, DataType::uint8,
                                    DataType::int64, DataType::uint64})
          set.add("arg_reduce")
              .of(type)
              .param("op", op)
              .param("axis", axis)
              .param("select_last_index", last)
              .input({5, 9, 131}, integers(0, 5));
      set.add("arg_reduce")
          .param("op", op)
          .param("axis", 1)
          .param("select_last_index", last)
          .input({30, 30}, specials());
      set.add("arg_reduce")
          .param("op", op)
          .input({30011}, normal())
          .param("select_last_index", last);
    }
}

void add_cumsum(ProblemSet& set) {
  const Fill x = explicit_values({1, 2, 3, 4, 5, 6});
  set.add("cumsum").input({2, 3}, x).scalar(1).expect({1, 3, 6, 4, 9, 15});
  set.add("cumsum").input({2, 3}, x).scalar(0).expect({1, 2, 3, 5, 7, 9});
  set.add("cumsum").input({2, 3}, x).scalar(-1).param("exclusive", 1).expect({0, 1, 3, 0, 4, 9});
  set.add("cumsum").input({2, 3}, x).value({1}).param("reverse", 1).expect({6, 5, 3, 15, 11, 6});
  set.add("cumsum")
      .of(DataType::int32)
      .input({2, 3}, x)
      .scalar(1)
      .param("reverse", 1)
      .param("exclusive", 1)
      .expect({5, 3, 0, 11, 6, 0});
  set.add("cumsum").of(DataType::float16).input({3, 4, 5}).scalar(1);
}

void add_topk(ProblemSet& set) {
  const Fill x = explicit_values({3, 1, 3, 2, 9, 8, 7, 7});
  set.add("topk")
      .input({2, 4}, x)
      .value({3})
      .output_count(2)
      .expect_output(0, {3, 3, 2, 9, 8, 7}, Shape{2, 3})
      .expect_output(1, {0, 2, 3, 0, 1, 2});
  set.add("topk")
      .input({2, 4}, x)
      .value({2})
      .param("largest", 0)
      .output_count(2)
      .expect_output(0, {1, 2, 7, 7})
      .expect_output(1, {1, 3, 2, 3});
  set.add("topk")
      .of(DataType::int64)
      .input({2, 4}, x)
      .value({1})
      .param("axis", 0)
      .output_count(2)
      .expect_output(0, {9, 8, 7, 7}, Shape{1, 4})
      .expect_output(1, {1, 1, 1, 1});
  set.add("topk")
      .input({4}, explicit_values({1, NAN, 3, -INFINITY}))
      .value({4})
      .output_count(2)
      .expect_output(0, {NAN, 3, 1, -INFINITY})
      .expect_output(1, {1, 2, 0, 3});
  set.add("topk").input({5}).value({0}).output_count(2);
  set.add("topk").input({3, 100}).value({7}).outputs_given({false, true});
  for (const DataType type : {DataType::float16, DataType::uint8, DataType::uint64})
    set.add("topk")
        .of(type)
        .input({4, 50, 3}, integers(0, 30))
        .value({9})
        .param("axis", 1)
        .output_count(2);
}

}  // namespace

void add_problems_reduce(ProblemSet& set) {
  add_reduce_values(set);
  add_reduce_integers(set);
  add_reduce_forms(set);
  add_arg_reduce(set);
  add_cumsum(set);
  add_topk(set);
}

}  // namespace softneuro::test
