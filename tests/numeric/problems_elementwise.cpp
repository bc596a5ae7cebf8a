// where, clip, cast, softmax, hardmax.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

void add_where(ProblemSet& set) {
  set.add("where")
      .input({4}, explicit_values({1, 0, 1, 0}), DataType::boolean)
      .input({4}, explicit_values({1, 2, 3, 4}))
      .input({4}, explicit_values({10, 20, 30, 40}))
      .expect({1, 20, 3, 40});
  set.add("where")
      .input({2, 1}, explicit_values({1, 0}), DataType::boolean)
      .input({}, explicit_values({7}), DataType::int64)
      .input({3}, explicit_values({1, 2, 3}), DataType::int64)
      .expect({7, 7, 7, 1, 2, 3}, Shape{2, 3});
  const Shape forms[][3] = {
      {{2, 19, 3, 5}, {2, 19, 3, 5}, {2, 19, 3, 5}},
      {{3, 5}, {2, 19, 3, 5}, {}},
      {{2, 1, 3, 1}, {1, 19, 1, 5}, {2, 19, 1, 1}},
      {{}, {20011}, {20011}},
      {{0}, {1}, {0}},
      {{9, 1}, {9, 33}, {1, 33}},
  };
  for (const auto& form : forms)
    for (const DataType type : {DataType::float32, DataType::float16, DataType::uint8,
                                DataType::int64, DataType::boolean, DataType::float64})
      set.add("where")
          .of(type)
          .input(form[0], integers(0, 1), DataType::boolean)
          .input(form[1], integers(0, 9))
          .input(form[2], integers(0, 9));
}

void add_clip(ProblemSet& set) {
  const std::vector<double> x = {-5, -1, 0, 1, 5};
  set.add("clip").input({5}, explicit_values(x)).expect(x);
  set.add("clip")
      .input({5}, explicit_values(x))
      .input({}, explicit_values({-1}))
      .input({}, explicit_values({2}))
      .expect({-1, -1, 0, 1, 2});
  set.add("clip")
      .input({5}, explicit_values(x))
      .no_input()
      .input({1}, explicit_values({0}))
      .expect({-5, -1, 0, 0, 0});
  set.add("clip")
      .input({5}, explicit_values(x))
      .input({}, explicit_values({3}))
      .input({}, explicit_values({1}))
      .expect({1, 1, 1, 1, 1});
  set.add("clip")
      .input({2, 5, 3, 4})
      .constant({}, explicit_values({-0.5}))
      .constant({}, explicit_values({0.7}));
  set.add("clip")
      .of(DataType::int64)
      .input({3}, explicit_values({-0x1p62, 5, 0x1p62}))
      .input({}, explicit_values({-0x1p61}))
      .expect({-0x1p61, 5, 0x1p62});
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16,
                              DataType::float64, DataType::int8, DataType::uint64})
    set.add("clip")
        .of(type)
        .input({5, 1001}, integers(0, 100))
        .input({}, integers(20, 20))
        .input({}, integers(60, 60));
  set.add("clip").input({300}, specials()).input({}, explicit_values({-1})).no_input();
}

Case& cast(ProblemSet& set, DataType from, std::vector<double> x, DataType to,
           std::vector<double> y) {
  const auto count = static_cast<std::int64_t>(x.size());
  return set.add("cast")
      .of(from)
      .input({count}, explicit_values(std::move(x)))
      .param("to", to_string(to))
      .expect(std::move(y));
}

void add_cast(ProblemSet& set) {
  using enum DataType;
  cast(set, float32, {1.9, -1.9, NAN, 1e10, -1e10}, int32, {1, -1, 0, 2147483647.0, -2147483648.0});
  cast(set, float32, {2147483648.0, 2147483520.0}, int32, {2147483647.0, 2147483520.0});
  cast(set, float32, {-3, 300, 254.9, 255.5}, uint8, {0, 255, 254, 255});
  cast(set, float32, {-129, 127.9}, int8, {-128, 127});
  cast(set, float64, {1e300, -2.5, 9007199254740993.0}, int64,
       {static_cast<double>(INT64_MAX), -2, 9007199254740992.0});
  cast(set, float32, {0, -0.0, 0.25, NAN}, boolean, {0, 0, 1, 1});
  cast(set, int64, {4294967297.0, -1}, int32, {1, -1});
  cast(set, int32, {-1, 256, 200}, uint8, {255, 0, 200});
  cast(set, int32, {-1, 200}, int8, {-1, -56});
  cast(set, int32, {0, -7}, boolean, {0, 1});
  cast(set, boolean, {0, 1}, float32, {0, 1});
  cast(set, boolean, {0, 1}, int64, {0, 1});
  cast(set, int32, {16777217}, float32, {16777216});
  cast(set, float32, {1.0009765625, 65504, 65520, 1e-8, NAN}, float16,
       {1.0009765625, 65504, INFINITY, 0, NAN});
  cast(set, float16, {1.5, -65504, INFINITY}, float32, {1.5, -65504, INFINITY});
  cast(set, float32, {1.00390625, 3e38}, bfloat16, {1.0, 3.00405527e38});
  // Just above a tie of float16: rounding to float32 first would lose what is above it.
  cast(set, float64, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11}, float16, {1 + 0x1p-10, 1})
      .tolerance(0, 0);
  const DataType types[] = {float32, float64, float16, bfloat16, int8,   uint8,  int16,
                            uint16,  int32,   uint32,  int64,    uint64, boolean};
  for (const DataType from : types)
    for (const DataType to : types)
      set.add("cast").of(from).input({3, 37}, integers(0, 100)).param("to", to_string(to));
  for (const DataType to : {float16, bfloat16, float64, int32, int64, uint8, int8, boolean})
    set.add("cast").input({20011}, normal(100)).param("to", to_string(to));
  for (const DataType to : {float32, int32, uint8})
    set.add("cast").of(int64).input({4097}, integers(-100000, 100000)).param("to", to_string(to));
  for (const DataType to : {float16, float64, int32, boolean})  // also in other layouts
    set.add("cast").input({2, 3, 5, 7}, normal(100)).param("to", to_string(to));
  set.add("cast").of(int32).input({2, 3, 5, 7}, integers(-100, 100)).param("to", "float32");
  for (const DataType to : {float16, bfloat16, float64, int32})
    set.add("cast").input({333}, specials()).param("to", to_string(to));
}

void add_softmax(ProblemSet& set) {
  const double e = std::exp(1.0);
  set.add("softmax")
      .input({2, 2}, explicit_values({0, 1, 1000, 1000}))
      .expect({1 / (1 + e), e / (1 + e), 0.5, 0.5});
  set.add("softmax")
      .input({2, 2}, explicit_values({0, 1000, 1, 1000}))
      .param("axis", 0)
      .expect({1 / (1 + e), 0.5, e / (1 + e), 0.5});
  set.add("softmax")
      .input({3}, explicit_values({0, 0, -INFINITY}))
      .param("log", 1)
      .expect({-std::log(2.0), -std::log(2.0), -INFINITY});
  for (const int log : {0, 1}) {
    for (const std::int64_t size : {1, 2, 7, 8, 15, 16, 17, 31, 33, 1000, 5003})
      set.add("softmax").input({3, size}, normal(3)).param("log", log);
    for (const std::int64_t inner : {1, 3, 16, 17, 63, 64, 65, 130})
      set.add("softmax").input({2, 11, inner}, normal(3)).param("axis", 1).param("log", log);
    set.add("softmax").input({300, 5}, normal(3)).param("axis", 0).param("log", log);
    set.add("softmax").input({7, 40}, specials()).param("log", log);
    set.add("softmax").input({40, 7}, specials()).param("axis", -2).param("log", log);
    set.add("softmax").input({2, 0, 3}).param("axis", 1).param("log", log);
    set.add("softmax").input({0, 4}).param("log", log);
    set.add("softmax").input({4, 20}, explicit_values({-INFINITY})).param("log", log);
    set.add("softmax").input({20, 4}, explicit_values({-INFINITY})).param("axis", 0);
    for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
      set.add("softmax").of(type).input({3, 4, 5}).param("axis", 1).param("log", log);
  }
  set.add("softmax").input({2, 3, 21}).post_op(BinaryOp::mul, {3, 1}).post_op(UnaryOp::sqrt);
}

void add_hardmax(ProblemSet& set) {
  set.add("hardmax").input({2, 3}, explicit_values({1, 3, 3, 7, 2, 1})).expect({0, 1, 0, 1, 0, 0});
  set.add("hardmax")
      .input({2, 3}, explicit_values({1, 3, 3, 7, 2, 1}))
      .param("axis", 0)
      .expect({0, 1, 1, 1, 0, 0});
  for (const DataType type : {DataType::float16, DataType::float64})
    set.add("hardmax").of(type).input({2, 3, 5}, integers()).param("axis", 1);
}

}  // namespace

void add_problems_elementwise(ProblemSet& set) {
  add_where(set);
  add_clip(set);
  add_cast(set);
  add_softmax(set);
  add_hardmax(set);
}

}  // namespace softneuro::test
