// quantize, dequantize, dynamic_quantize.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

void add_quantize(ProblemSet& set) {
  // The examples of the ONNX operator's documentation.
  set.add("quantize")
      .input({6}, explicit_values({0, 2, 3, 1000, -254, -1000}))
      .constant({}, explicit_values({2}))
      .constant({}, explicit_values({128}), DataType::uint8)
      .expect({128, 129, 130, 255, 1, 0});
  set.add("quantize")
      .input({1, 3, 3, 2}, explicit_values({-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44,
                                            245, -485, -960, -270, -375, -470}))
      .constant({3}, explicit_values({2, 4, 5}))
      .constant({3}, explicit_values({84, 24, 196}), DataType::uint8)
      .param("axis", 1)
      .expect({3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102});
  // Half to even, on both sides, before the zero point is added; no zero point: uint8.
  set.add("quantize")
      .input({8}, explicit_values({0.5, 1.5, 2.5, -0.5, -1.5, 254.5, 255.5, NAN}))
      .constant({}, explicit_values({1}))
      .expect({0, 2, 2, 0, 0, 254, 255, 0});
  set.add("quantize")
      .input({6}, explicit_values({0.5, -2.5, 127.4, 127.6, -INFINITY, INFINITY}))
      .constant({}, explicit_values({1}))
      .param("to", "int8")
      .expect({0, -2, 127, 127, -128, 127});
  set.add("quantize")
      .input({5}, explicit_values({-514, 3, -128, 702, 1e30}))
      .constant({1}, explicit_values({2}))
      .constant({1}, explicit_values({256}), DataType::int16)
      .expect({-1, 258, 192, 607, 32767});
  set.add("quantize")
      .input({2, 4}, explicit_values({1, 2, 3, 4, 5, 6, 7, 8}))
      .constant({2, 2}, explicit_values({1, 2, 0.5, 4}))
      .constant({2, 2}, explicit_values({0, 1, 2, 3}), DataType::uint8)
      .param("axis", 1)
      .param("block_size", 2)
      .expect({1, 2, 3, 3, 12, 14, 5, 5});
  for (const char* to : {"uint8", "int8", "uint16", "int16"}) {
    for (const std::int64_t size : {0, 1, 3, 15, 16, 17, 20011})
      set.add("quantize")
          .input({size}, normal(30))
          .constant({}, explicit_values({0.37}))
          .param("to", to);
    set.add("quantize").input({300}, specials()).constant({}, explicit_values({1})).param("to", to);
    for (const int axis : {0, 1, 2, -1})
      set.add("quantize")
          .input({19, 19, 19}, normal(30))
          .constant({19}, uniform(0.1, 1))
          .param("axis", axis)
          .param("to", to);
  }
  set.add("quantize")
      .of(DataType::float16)
      .input({3, 5})
      .constant({}, explicit_values({0.25}))
      .constant({}, explicit_values({3}), DataType::int8);
  set.add("quantize")
      .input({2, 10}, normal(10))
      .constant({2, 4}, uniform(0.1, 1))
      .param("axis", 1)
      .param("block_size", 3);
}

void add_dequantize(ProblemSet& set) {
  set.add("dequantize")
      .input({4}, explicit_values({0, 3, 128, 255}), DataType::uint8)
      .constant({}, explicit_values({2}))
      .constant({}, explicit_values({128}), DataType::uint8)
      .expect({-256, -250, 0, 254});
  set.add("dequantize")
      .input({1, 2, 2}, explicit_values({-128, 127, 10, 20}), DataType::int8)
      .constant({2}, explicit_values({0.5, 4}))
      .constant({2}, explicit_values({-1, 10}), DataType::int8)
      .expect({-63.5, 64, 0, 40});
  set.add("dequantize")
      .input({2}, explicit_values({-2147483648.0, 3}), DataType::int32)
      .constant({}, explicit_values({0.5}))
      .expect({-1073741824.0, 1.5});
  set.add("dequantize")
      .input({2, 4}, explicit_values({1, 2, 3, 4, 5, 6, 7, 8}), DataType::uint8)
      .constant({1, 4}, explicit_values({1, 10, 100, 1000}))
      .param("axis", 0)
      .param("block_size", 2)
      .expect({1, 20, 300, 4000, 5, 60, 700, 8000});
  for (const DataType type :
       {DataType::uint8, DataType::int8, DataType::uint16, DataType::int16, DataType::int32}) {
    for (const std::int64_t size : {0, 1, 3, 15, 16, 17, 20011})
      set.add("dequantize")
          .input({size}, integers(0, 127), type)
          .constant({}, explicit_values({0.37}))
          .constant({}, explicit_values({5}), type);
    for (const int axis : {0, 1, 2, -1})
      set.add("dequantize")
          .input({19, 19, 19}, integers(0, 127), type)
          .input({19}, uniform(0.1, 1))
          .input({19}, integers(0, 100), type)
          .param("axis", axis);
    set.add("dequantize")
        .input({40}, integers(0, 127), type)
        .constant({}, explicit_values({0.25}), DataType::float16);
  }
}

void add_dynamic(ProblemSet& set) {
  // The example of the ONNX operator's documentation.
  set.add("dynamic_quantize")
      .input({6}, explicit_values({0, 2, -3, -2.5, 1.34, 0.5}))
      .output_count(3)
      .expect_output(0, {153, 255, 0, 26, 221, 179})
      .expect_output(1, {0.0196078438})
      .expect_output(2, {153});
  set.add("dynamic_quantize")
      .input({3}, explicit_values({1, 2.1, 1.3}))
      .output_count(3)
      .expect_output(0, {121, 255, 158})
      .expect_output(1, {2.1 / 255})
      .expect_output(2, {0});
  set.add("dynamic_quantize")
      .input({3}, explicit_values({0}))
      .output_count(3)
      .expect_output(0, {0, 0, 0})
      .expect_output(1, {1})
      .expect_output(2, {0});
  for (const std::int64_t size : {0, 1, 5, 17, 16384, 40009})
    set.add("dynamic_quantize").input({size}, normal(3)).output_count(3);
  set.add("dynamic_quantize").input({50}, normal(3));
}

}  // namespace

void add_problems_quantize(ProblemSet& set) {
  add_quantize(set);
  add_dequantize(set);
  add_dynamic(set);
}

}  // namespace softneuro::test
