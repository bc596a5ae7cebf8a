// max_pool, avg_pool, lp_pool over one to three axes, and max_unpool.
#include <cmath>

#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

constexpr const char* kFamilies[] = {"max_pool", "avg_pool", "lp_pool"};

std::vector<double> count_up(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

void add_known(ProblemSet& set) {
  const Shape five{1, 1, 5, 5};
  // From the documentation of MaxPool and AveragePool: 5x5 of 1…25.
  set.add("max_pool2")
      .input(five, explicit_values(count_up(25)))
      .param("kernel", {5, 5})
      .param("pads", {2, 2, 2, 2})
      .output_count(2)
      .expect({13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25,
               25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25})
      .expect_output(1, {12, 13, 14, 14, 14, 17, 18, 19, 19, 19, 22, 23, 24,
                         24, 24, 22, 23, 24, 24, 24, 22, 23, 24, 24, 24});
  set.add("max_pool2")
      .input(five, explicit_values(count_up(25)))
      .param("kernel", {2, 2})
      .param("strides", {2, 2})
      .param("storage_order", 1)
      .output_count(2)
      .expect({7, 9, 17, 19}, Shape{1, 1, 2, 2})
      .expect_output(1, {6, 16, 8, 18});
  set.add("max_pool2")
      .input({1, 1, 4, 4}, explicit_values(count_up(16)))
      .param("kernel", {3, 3})
      .param("strides", {2, 2})
      .param("ceil_mode", 1)
      .expect({11, 12, 15, 16}, Shape{1, 1, 2, 2});
  set.add("avg_pool2")
      .input(five, explicit_values(count_up(25)))
      .param("kernel", {3, 3})
      .param("strides", {2, 2})
      .param("auto_pad", "same_upper")
      .expect({4, 5.5, 7, 11.5, 13, 14.5, 19, 20.5, 22});
  set.add("avg_pool2")
      .input(five, explicit_values(count_up(25)))
      .param("kernel", {5, 5})
      .param("pads", {2, 2, 2, 2})
      .param("count_include_pad", 1)
      .expect({2.52, 3.6, 4.8,  4.08, 3.24, 4.56,  6.4,  8.4,  7.04, 5.52, 7.2,  10,  13,
               10.8, 8.4, 6.96, 9.6,  12.4, 10.24, 7.92, 6.12, 8.4,  10.8, 8.88, 6.84});
  // The last window hangs over: what lies beyond the padding never counts.
  set.add("avg_pool1")
      .input({1, 1, 4}, explicit_values({1, 2, 3, 4}))
      .param("kernel", {3})
      .param("strides", {2})
      .param("ceil_mode", 1)
      .param("count_include_pad", 1)
      .expect({2, 3.5}, Shape{1, 1, 2});
  // A window that would start behind the input is left out.
  set.add("avg_pool1")
      .input({1, 1, 2}, explicit_values({2, 4}))
      .param("kernel", {1})
      .param("strides", {2})
      .param("pads", {0, 1})
      .param("ceil_mode", 1)
      .expect({2}, Shape{1, 1, 1});
  // Rounded up, a window larger than the padded input is one window, as in ONNX Runtime.
  set.add("max_pool1")
      .input({1, 1, 3}, explicit_values({1, 3, 2}))
      .param("kernel", {5})
      .param("strides", {3})
      .param("ceil_mode", 1)
      .expect({3}, Shape{1, 1, 1});
  for (const std::int64_t counted : {0, 1})
    set.add("avg_pool1")
        .input({1, 1, 3}, explicit_values({1, 2, 3}))
        .param("kernel", {6})
        .param("strides", {3})
        .param("pads", {1, 0})
        .param("count_include_pad", counted)
        .param("ceil_mode", 1)
        .expect({counted != 0 ? 1.5 : 2}, Shape{1, 1, 1});
  // Every other element, from the one before the first.
  set.add("avg_pool1")
      .input({1, 1, 4}, explicit_values({1, 2, 3, 4}))
      .param("kernel", {4})
      .param("strides", {2})
      .param("dilations", {2})
      .param("pads", {1, 1})
      .param("ceil_mode", 1)
      .expect({3}, Shape{1, 1, 1});
  set.add("lp_pool1")
      .input({1, 1, 3}, explicit_values({3, -4, 12}))
      .param("kernel", {2})
      .expect({5, 12.649110640673518});
  set.add("max_pool1")
      .input({1, 1, 3}, explicit_values({-3, NAN, -5}))
      .param("kernel", {2})
      .param("pads", {1, 0})
      .expect({-3, NAN, NAN});
  set.add("max_unpool")
      .input({1, 1, 2, 2}, explicit_values({1, 2, 3, 4}))
      .input({1, 1, 2, 2}, explicit_values({5, 7, 13, 15}), DataType::int64)
      .value({1, 1, 5, 5})
      .param("kernel", {2, 2})
      .param("strides", {2, 2})
      .expect({0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0});
  set.add("max_unpool")
      .input({1, 1, 2, 2}, explicit_values({1, 2, 3, 4}))
      .input({1, 1, 2, 2}, explicit_values({0, 7, 8, 15}), DataType::int64)
      .param("kernel", {2, 2})
      .param("strides", {2, 2})
      .expect({1, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 4}, Shape{1, 1, 4, 4});
  for (const double index : {-1.0, 16.0, 1e18})
    set.add("max_unpool")
        .input({1, 1, 2, 2})
        .input({1, 1, 2, 2}, explicit_values({0, index, 8, 15}), DataType::int64)
        .param("kernel", {2, 2})
        .param("strides", {2, 2})
        .fails();
}

void add_parameters(ProblemSet& set) {
  for (const std::string family : kFamilies) {
    for (const std::int64_t kernel : {1, 2, 3, 4, 5})
      for (const std::int64_t stride : {1, 2, 3}) {
        set.add(family + "2")
            .input({1, 3, 11, 13})
            .param("kernel", {kernel, kernel})
            .param("strides", {stride, stride});
        set.add(family + "2")
            .input({2, 2, 9, 10})
            .param("kernel", {kernel, 2})
            .param("strides", {stride, 1})
            .param("pads", {kernel - 1, 1, kernel / 2, 0})
            .param("ceil_mode", 1);
        for (const char* mode : {"same_upper", "same_lower", "valid"})
          set.add(family + "2")
              .input({1, 2, 8, 7})
              .param("kernel", {kernel, kernel})
              .param("strides", {stride, 2})
              .param("auto_pad", mode);
      }
    for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65})
      set.add(family + "2")
          .input({1, 2, 5, width})
          .param("kernel", {3, 3})
          .param("strides", {width % 2 == 0 ? 2 : 1, 2})
          .param("pads", {1, 1, 1, 1});
    set.add(family + "2")
        .input({1, 2, 12, 13})
        .param("kernel", {3, 2})
        .param("dilations", {2, 3})
        .param("pads", {2, 1, 1, 2})
        .post_op(UnaryOp::relu);
    set.add(family + "1").input({2, 3, 17}).param("kernel", {4}).param("strides", {3});
    // Windows larger than the padded input.
    for (const std::int64_t channels : {1, 3, 8, 16, 33, 64}) {
      set.add(family + "2")
          .input({2, channels, 4, 5})
          .param("kernel", {6, 7})
          .param("strides", {3, 3})
          .param("ceil_mode", 1);
      set.add(family + "2")
          .input({1, channels, 3, 9})
          .param("kernel", {7, 3})
          .param("strides", {4, 2})
          .param("pads", {2, 0, 1, 1})
          .param("ceil_mode", 1);
    }
    set.add(family + "3")
        .input({1, 2, 5, 6, 7})
        .param("kernel", {2, 3, 2})
        .param("strides", {1, 2, 2})
        .param("pads", {1, 0, 1, 0, 1, 0});
    set.add(family + "2").input({0, 2, 4, 4}).param("kernel", {2, 2});
    for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
      set.add(family + "2").of(type).input({1, 3, 8, 9}).param("kernel", {3, 3});
  }
  set.add("lp_pool2").input({1, 2, 7, 7}).param("kernel", {3, 3}).param("p", 1);
  set.add("lp_pool2").input({1, 2, 7, 7}).param("kernel", {2, 2}).param("p", 3);
  for (const std::int64_t ceil : {0, 1})
    set.add("avg_pool2")
        .input({2, 3, 10, 11})
        .param("kernel", {3, 4})
        .param("strides", {2, 3})
        .param("pads", {1, 2, 1, 2})
        .param("count_include_pad", 1)
        .param("ceil_mode", ceil);
  set.add("avg_pool2")
      .input({1, 16, 3, 11})
      .param("kernel", {6, 4})
      .param("strides", {3, 3})
      .param("pads", {1, 2, 1, 2})
      .param("count_include_pad", 1)
      .param("ceil_mode", 1);
  set.add("avg_pool2").input({1, 40, 7, 7}).param("kernel", {7, 7});
}

void add_max_details(ProblemSet& set) {
  set.add("max_pool2").input({2, 3, 9, 11}, specials()).param("kernel", {3, 3});
  set.add("max_pool2")
      .input({2, 3, 9, 11}, integers(-2, 2))  // ties: the first one wins
      .param("kernel", {3, 2})
      .param("strides", {2, 1})
      .param("pads", {1, 1, 1, 0})
      .output_count(2);
  set.add("max_pool3")
      .input({1, 2, 4, 5, 6}, integers(-9, 9))
      .param("kernel", {2, 2, 2})
      .param("storage_order", 1)
      .output_count(2);
  // Windows of padding alone.
  set.add("max_pool2")
      .input({1, 1, 2, 2}, normal())
      .param("kernel", {1, 1})
      .param("pads", {1, 1, 1, 1});
  for (const DataType type :
       {DataType::int8, DataType::uint8, DataType::int32, DataType::int64, DataType::uint64})
    set.add("max_pool2").of(type).input({1, 2, 6, 6}, integers(0, 100)).param("kernel", {2, 3});
}

}  // namespace

void add_problems_pool(ProblemSet& set) {
  add_known(set);
  add_parameters(set);
  add_max_details(set);
}

}  // namespace softneuro::test
