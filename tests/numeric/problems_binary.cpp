#include <cmath>

#include "core/graph/elementwise.h"
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

void expect(ProblemSet& set, BinaryOp op, DataType type, std::vector<double> a,
            std::vector<double> b, std::vector<double> y) {
  const auto count_a = static_cast<std::int64_t>(a.size());
  const auto count_b = static_cast<std::int64_t>(b.size());
  set.add("binary")
      .of(type)
      .param("op", to_string(op))
      .input({count_a}, explicit_values(std::move(a)))
      .input({count_b}, explicit_values(std::move(b)))
      .expect(std::move(y));
}

void add_reals(ProblemSet& set) {
  using enum DataType;
  for (const DataType type : {float32, float16, float64}) {
    expect(set, BinaryOp::add, type, {1, 2}, {10, 20}, {11, 22});
    expect(set, BinaryOp::sub, type, {1, 2}, {10, 20}, {-9, -18});
    expect(set, BinaryOp::mul, type, {3, -2}, {0.5, 4}, {1.5, -8});
    expect(set, BinaryOp::div, type, {3, 1, 0}, {2, 0, 0}, {1.5, INFINITY, NAN});
    expect(set, BinaryOp::pow, type, {2, 4, -2, 0}, {3, 0.5, 2, 0}, {8, 2, 4, 1});
    expect(set, BinaryOp::max, type, {1, NAN, 2}, {2, 0, NAN}, {2, NAN, NAN});
    expect(set, BinaryOp::min, type, {1, NAN, 2}, {2, 0, NAN}, {1, NAN, NAN});
    expect(set, BinaryOp::mod, type, {7, -7, 7, -7, -6}, {3, 3, -3, -3, 3}, {1, 2, -2, -1, 0});
    expect(set, BinaryOp::fmod, type, {7, -7, 7.5}, {3, 3, -3}, {1, -1, 1.5});
    expect(set, BinaryOp::prelu, type, {-2, 3}, {0.5, 0.5}, {-1, 3});
    expect(set, BinaryOp::equal, type, {1, 2, NAN}, {1, 3, NAN}, {1, 0, 0});
    expect(set, BinaryOp::less, type, {1, 2, NAN}, {2, 2, 1}, {1, 0, 0});
    expect(set, BinaryOp::less_equal, type, {1, 2, 3}, {2, 2, 2}, {1, 1, 0});
    expect(set, BinaryOp::greater, type, {1, 2, 3}, {2, 2, 2}, {0, 0, 1});
    expect(set, BinaryOp::greater_equal, type, {1, 2, NAN}, {2, 2, 2}, {0, 1, 0});
  }
  expect(set, BinaryOp::pow, float32, {3, -3, 0.5}, {2}, {9, 9, 0.25});
  expect(set, BinaryOp::pow, float32, {4, -2, 0.5}, {-1}, {0.25, -0.5, 2});
}

void add_integers(ProblemSet& set) {
  using enum DataType;
  expect(set, BinaryOp::add, uint8, {250}, {10}, {4});
  expect(set, BinaryOp::sub, uint8, {3}, {5}, {254});
  expect(set, BinaryOp::mul, int8, {100, -128}, {2, -1}, {-56, -128});
  expect(set, BinaryOp::div, int32, {7, -7, 7, -7, 5}, {2, 2, -2, -2, 0}, {3, -3, -3, 3, 0});
  expect(set, BinaryOp::div, int32, {-2147483648.0}, {-1}, {-2147483648.0});
  expect(set, BinaryOp::div, int64, {-0x1p63}, {-1}, {-0x1p63});
  expect(set, BinaryOp::mod, int32, {7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}, {1, 2, -2, -1, 0});
  expect(set, BinaryOp::fmod, int32, {7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}, {1, -1, 1, -1, 0});
  expect(set, BinaryOp::mod, uint16, {7, 65535}, {4, 16}, {3, 15});
  expect(set, BinaryOp::mod, int64, {-0x1p63}, {-1}, {0});
  expect(set, BinaryOp::pow, int32, {2, -3, 5, 1, -1, 2}, {10, 3, 0, -4, -3, -1},
         {1024, -27, 1, 1, -1, 0});
  expect(set, BinaryOp::max, int8, {-3, 4}, {2, -128}, {2, 4});
  expect(set, BinaryOp::min, uint32, {4294967295.0}, {7}, {7});
  expect(set, BinaryOp::prelu, int32, {-4, 4}, {3, 3}, {-12, 4});
  expect(set, BinaryOp::bitwise_and, uint8, {12}, {10}, {8});
  expect(set, BinaryOp::bitwise_or, int32, {12, -1}, {3, 5}, {15, -1});
  expect(set, BinaryOp::bitwise_xor, int64, {12}, {10}, {6});
  expect(set, BinaryOp::shift_left, uint8, {3, 1, 1}, {7, 8, 64}, {128, 0, 0});
  expect(set, BinaryOp::shift_right, uint32, {4294967295.0, 8}, {31, 70}, {1, 0});
  expect(set, BinaryOp::shift_right, uint64, {0x1p62}, {60}, {4});
  expect(set, BinaryOp::less, uint8, {200}, {100}, {0});
  expect(set, BinaryOp::less, int8, {-56}, {100}, {1});
  expect(set, BinaryOp::equal, int64, {5, 6}, {5, 5}, {1, 0});
}

// Values above INT64_MAX, which the descriptions' doubles cannot give as inputs directly.
void add_unsigned(ProblemSet& set) {
  const auto wide = [&](BinaryOp op) -> Case& {
    return set.add("binary").of(DataType::uint64).param("op", to_string(op));
  };
  // 0 − 1 wraps to 2^64 − 1, in a post-op chain: (0 − 1) / 2^32 = 2^32 − 1.
  wide(BinaryOp::sub)
      .input({1}, explicit_values({0}))
      .input({1}, explicit_values({1}))
      .post_op(BinaryOp::div, {1}, false, explicit_values({4294967296.0}))
      .expect({4294967295.0});
  wide(BinaryOp::sub)
      .input({1}, explicit_values({0}))
      .input({1}, explicit_values({1}))
      .post_op(BinaryOp::min, {1}, false, explicit_values({77}))
      .expect({77});
}

void add_booleans(ProblemSet& set) {
  using enum DataType;
  expect(set, BinaryOp::logical_and, boolean, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1});
  expect(set, BinaryOp::logical_or, boolean, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1});
  expect(set, BinaryOp::logical_xor, boolean, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0});
  expect(set, BinaryOp::equal, boolean, {0, 0, 1, 1}, {0, 1, 0, 1}, {1, 0, 0, 1});
  expect(set, BinaryOp::bitwise_xor, boolean, {0, 1, 1}, {1, 1, 0}, {1, 0, 1});
}

void add_mixed_powers(ProblemSet& set) {
  set.add("binary")
      .param("op", "pow")
      .input({3}, explicit_values({2, 9, 2}))
      .input({3}, explicit_values({3, 2, -1}), DataType::int64)
      .expect({8, 81, 0.5});
  set.add("binary")
      .param("op", "pow")
      .input({3}, explicit_values({2, 9, 2}), DataType::int32)
      .input({3}, explicit_values({3, 0.5, -1}), DataType::float32)
      .expect({8, 3, 0});
  set.add("binary")
      .param("op", "pow")
      .input({2}, explicit_values({2, 3}), DataType::int64)
      .input({}, explicit_values({2}), DataType::int32)
      .expect({4, 9});
}

// Every broadcast form: sizes at the edges of vectors, more axes than rows have.
void add_forms(ProblemSet& set) {
  const std::pair<Shape, Shape> forms[] = {
      {{2, 19, 3, 5}, {2, 19, 3, 5}},
      {{2, 19, 3, 5}, {}},
      {{2, 19, 3, 5}, {1, 19, 1, 1}},
      {{19, 1, 1}, {2, 19, 3, 5}},
      {{2, 19, 3, 5}, {5}},
      {{2, 19, 3, 5}, {3, 1}},
      {{2, 1, 3, 5}, {1, 19, 1, 5}},
      {{1, 19, 3, 1}, {2, 1, 1, 5}},
      {{7, 1}, {1, 9}},
      {{17}, {17}},
      {{1}, {4097}},
      {{}, {}},
      {{0, 3}, {3}},
      {{2, 1, 4}, {2, 0, 4}},
      {{2, 1, 1, 1}, {2, 19, 3, 5}},
      {{3, 20011}, {20011}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2}},
  };
  for (const auto& [a, b] : forms)
    for (const BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::pow, BinaryOp::less})
      for (const DataType type : {DataType::float32, DataType::float16, DataType::int32})
        set.add("binary")
            .of(type)
            .param("op", to_string(op))
            .input(a, op == BinaryOp::pow ? integers(1, 3) : integers(-4, 4))
            .input(b, integers(0, 3));
  for (int i = 0; i < kBinaryOpCount; ++i) {  // exact in the data type itself
    const auto op = static_cast<BinaryOp>(i);
    const bool is_logic = op >= BinaryOp::logical_and && op <= BinaryOp::logical_xor;
    const bool is_bitwise = op >= BinaryOp::bitwise_and && op <= BinaryOp::shift_right;
    const bool is_comparison = op >= BinaryOp::equal;
    for (const DataType type : {DataType::int32, DataType::int64, DataType::uint8, DataType::int8,
                                DataType::uint64, DataType::boolean, DataType::float32}) {
      if (type == DataType::boolean ? !is_logic && !is_comparison : is_logic) continue;
      if (type == DataType::float32 && is_bitwise) continue;
      const Fill fill = type == DataType::boolean ? integers(0, 1) : integers(-100, 100);
      const auto add = [&](const Shape& a, const Shape& b) {
        set.add("binary").of(type).param("op", to_string(op)).input(a, fill).input(b, fill);
      };
      add({3, 5, 130}, {3, 5, 130});
      add({3, 5, 7}, {5, 1});
      add({9000}, {});
    }
  }
  for (int i = 0; i <= static_cast<int>(BinaryOp::prelu); ++i) {
    const char* op = to_string(static_cast<BinaryOp>(i));
    set.add("binary").param("op", op).input({333}, specials()).input({333}, specials());
    set.add("binary").param("op", op).input({3, 111}, specials()).input({3, 1}, specials());
    for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
      set.add("binary")
          .of(type)
          .param("op", op)
          .input({4, 33}, normal())
          .input({33}, uniform(1, 2));
  }
  set.add("binary").param("op", "mul").input({2, 19, 3, 5}).constant({1, 19, 1, 1});
  set.add("binary")
      .param("op", "add")
      .input({2, 19, 3, 5})
      .input({2, 19, 3, 5})
      .post_op(UnaryOp::relu)
      .post_op(BinaryOp::mul, {2, 19, 3, 5});
}

}  // namespace

void add_problems_binary(ProblemSet& set) {
  add_reals(set);
  add_integers(set);
  add_unsigned(set);
  add_booleans(set);
  add_mixed_powers(set);
  add_forms(set);
}

}  // namespace softneuro::test
