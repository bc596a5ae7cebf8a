#include "numeric/problem_set.h"

namespace softneuro::test {

void add_problems_cum_prod(ProblemSet& set) {
  const Fill x = explicit_values({1, 2, 3, 4, 5, 6});
  set.add("cum_prod").input({2, 3}, x).scalar(1).expect({1, 2, 6, 4, 20, 120});
  set.add("cum_prod").input({2, 3}, x).scalar(0).expect({1, 2, 3, 4, 10, 18});
  set.add("cum_prod").input({2, 3}, x).scalar(-1).param("exclusive", 1).expect({1, 1, 2, 1, 4, 20});
  set.add("cum_prod").input({2, 3}, x).value({1}).param("reverse", 1).expect({6, 6, 3, 120, 30, 6});
  set.add("cum_prod")
      .of(DataType::int32)
      .input({2, 3}, x)
      .scalar(1)
      .param("reverse", 1)
      .param("exclusive", 1)
      .expect({6, 3, 1, 30, 6, 1});
  set.add("cum_prod")
      .of(DataType::int8)
      .input({4}, explicit_values({100, 3, -1, 2}))
      .scalar(0)
      .expect({100, 44, -44, -88});  // 300 − 256 = 44
  set.add("cum_prod").input({0, 3}).scalar(0);
  set.add("cum_prod").input({3, 4, 5}).scalar(1);
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64})
    set.add("cum_prod").of(type).input({3, 4, 5}).scalar(1);
  for (const DataType type : {DataType::uint32, DataType::int64, DataType::uint64})
    set.add("cum_prod").of(type).input({3, 4, 5}, integers(0, 9)).scalar(2);
}

}  // namespace softneuro::test
