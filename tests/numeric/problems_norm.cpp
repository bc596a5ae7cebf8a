// batch_norm, instance_norm, group_norm, layer_norm, rms_norm, lrn, lp_norm.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

constexpr DataType kOtherFloats[] = {DataType::float16, DataType::bfloat16, DataType::float64};

void add_batch(ProblemSet& set) {
  // (x − 2) / sqrt(4) · 3 + 1 and (x − 0) / sqrt(1) · 1 − 1
  set.add("batch_norm")
      .input({1, 2, 2}, explicit_values({2, 4, 6, 8}))
      .constant({2}, explicit_values({3, 1}))
      .constant({2}, explicit_values({1, -1}))
      .constant({2}, explicit_values({2, 0}))
      .constant({2}, explicit_values({4, 1}))
      .param("epsilon", 0.0)
      .expect({1, 4, 5, 7});
  const auto batch_norm = [&](Shape x, DataType type, bool constant) -> Case& {
    const std::int64_t channels = x.rank() < 2 ? 1 : x[1];
    Case& added = set.add("batch_norm").of(type).input(x);
    for (int i = 0; i < 4; ++i) {
      const Fill fill = i == 3 ? uniform(0.2, 3) : normal();
      constant ? added.constant({channels}, fill) : added.input({channels}, fill);
    }
    return added;
  };
  for (const bool constant : {true, false}) {
    for (const std::int64_t size : {1, 2, 7, 16, 17, 63, 130})
      batch_norm({2, 5, size}, DataType::float32, constant);
    batch_norm({3, 7, 5, 6}, DataType::float32, constant).post_op(UnaryOp::relu);
    batch_norm({2, 3, 2, 3, 4}, DataType::float32, constant);
    batch_norm({4, 9}, DataType::float32, constant);
    batch_norm({6}, DataType::float32, constant);
    batch_norm({0, 3, 4}, DataType::float32, constant);
    for (const DataType type : kOtherFloats) batch_norm({2, 3, 4, 5}, type, constant);
  }
}

void add_instance_and_group(ProblemSet& set) {
  set.add("instance_norm")
      .input({1, 1, 3}, explicit_values({1, 2, 3}))
      .constant({1}, explicit_values({2}))
      .constant({1}, explicit_values({10}))
      .param("epsilon", 0.0)
      .expect({7.550510257216822, 10, 12.449489742783178});
  set.add("group_norm")
      .input({1, 4, 1}, explicit_values({1, 3, -2, 2}))
      .constant({4}, explicit_values({1, 1, 1, 2}))
      .constant({4}, explicit_values({0, 1, 0, 0}))
      .param("groups", 2)
      .param("epsilon", 0.0)
      .expect({-1, 2, -1, 2});
  for (const std::int64_t size : {1, 2, 7, 16, 17, 63, 130}) {
    set.add("instance_norm")
        .input({2, 3, size, 3})
        .constant({3})
        .constant({3})
        .post_op(UnaryOp::relu);
    set.add("group_norm").input({2, 6, size}).constant({6}).constant({6}).param("groups", 2);
  }
  for (const std::int64_t groups : {1, 3, 12})
    set.add("group_norm")
        .input({2, 12, 5, 4})
        .input({12})
        .input({12})
        .param("groups", groups)
        .param("epsilon", 0.01);
  // A mean far from zero must not cost the variance its digits.
  set.add("instance_norm").input({1, 2, 50}, uniform(1000, 1001)).constant({2}).constant({2});
  for (const DataType type : kOtherFloats) {
    set.add("instance_norm").of(type).input({2, 3, 4, 5}).constant({3}).constant({3});
    set.add("group_norm").of(type).input({2, 4, 5}).constant({4}).constant({4}).param("groups", 2);
  }
}

void add_layer_and_rms(ProblemSet& set) {
  set.add("layer_norm")
      .input({2, 2}, explicit_values({1, 3, -2, 6}))
      .constant({2}, explicit_values({1, 2}))
      .constant({2}, explicit_values({0, 1}))
      .param("epsilon", 0.0)
      .output_count(3)
      .expect({-1, 3, -1, 3})
      .expect_output(1, {2, 2}, Shape{2, 1})
      .expect_output(2, {1, 0.25}, Shape{2, 1});
  set.add("rms_norm")
      .input({1, 2}, explicit_values({3, 4}))
      .constant({2}, explicit_values({1, 2}))
      .param("epsilon", 0.0)
      .expect({0.848528137423857, 2.262741699796952});
  for (const std::string type : {"layer_norm", "rms_norm"}) {
    for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 769}) {
      set.add(type).input({5, size}).constant({size}).param("epsilon", 1e-3);
      set.add(type).input({2, 3, size}, normal(20)).constant({size}).post_op(UnaryOp::gelu);
    }
    for (const std::int64_t axis : {0, 1, 2, -1, -2, -3})
      set.add(type).input({3, 4, 5}).param("axis", axis).param("epsilon", 0.1);
    set.add(type).input({3, 4, 5}).constant({4, 5}).param("axis", 1);
    set.add(type).input({3, 4, 5}).constant({4, 1}).param("axis", 1);  // broadcast
    set.add(type).input({3, 4, 5}).input({1}).param("axis", -1);
    set.add(type).input({3, 4, 5}).constant({3, 1, 5}).param("axis", -1);
    set.add(type).input({0, 5}).constant({5});
    for (const DataType element : kOtherFloats)
      set.add(type).of(element).input({4, 33}).constant({33});
    set.add(type).of(DataType::float16).input({4, 33}).constant({33}, normal(), DataType::float32);
  }
  set.add("layer_norm").input({4, 33}).constant({33}).constant({33}).output_count(3);
  set.add("layer_norm").input({4, 33}).constant({33}).post_op(BinaryOp::add, {4, 33});
  set.add("rms_norm").input({4, 33}).post_op(BinaryOp::mul, {33});
  set.add("layer_norm").input({4, 33}).no_input().constant({33});
  set.add("layer_norm").input({2, 6, 7}).outputs_given({true, false, true}).param("axis", 1);
  set.add("layer_norm").input({3, 257}, uniform(1000, 1001)).constant({257}).constant({257});
}

void add_lrn_and_lp(ProblemSet& set) {
  // bias + alpha/size·Σx² = 1 + 1·(1+4), 1 + (1+4+9), 1 + (4+9)
  set.add("lrn")
      .input({1, 3, 1}, explicit_values({1, 2, 3}))
      .param("size", 3)
      .param("alpha", 3.0)
      .param("beta", 1.0)
      .expect({1.0 / 6, 2.0 / 15, 3.0 / 14});
  for (const std::int64_t size : {1, 2, 3, 4, 5, 11})
    set.add("lrn").input({2, 7, 3, 5}).param("size", size).param("alpha", 0.5).param("beta", 0.75);
  for (const std::int64_t inner : {1, 15, 16, 17, 70})
    set.add("lrn").input({1, 6, inner}).param("size", 5).param("alpha", 1e-2).param("bias", 2.0);
  set.add("lrn").input({1, 6, 9}).param("size", 5).param("beta", 0.5).post_op(UnaryOp::relu);
  set.add("lp_norm").input({2, 2}, explicit_values({3, 4, 0, 0})).expect({0.6, 0.8, 0, 0});
  set.add("lp_norm")
      .input({2, 2}, explicit_values({3, 4, 1, -4}))
      .param("p", 1)
      .param("axis", 0)
      .expect({0.75, 0.5, 0.25, -0.5});
  for (const std::int64_t axis : {0, 1, 2, -1})
    for (const std::int64_t p : {1, 2})
      set.add("lp_norm").input({3, 4, 17}).param("axis", axis).param("p", p);
  for (const DataType type : kOtherFloats) {
    set.add("lrn").of(type).input({1, 5, 4}).param("size", 3).param("alpha", 0.3);
    set.add("lp_norm").of(type).input({3, 9});
  }
}

}  // namespace

void add_problems_norm(ProblemSet& set) {
  add_batch(set);
  add_instance_and_group(set);
  add_layer_and_rms(set);
  add_lrn_and_lp(set);
}

}  // namespace softneuro::test
