#include "numeric/problem_set.h"

namespace softneuro::test {

void add_problems_center_crop_pad(ProblemSet& set) {
  const Fill x = explicit_values({1, 2, 3, 4, 5, 6});
  const auto row = [&](std::int64_t size, std::vector<double> expected) {
    set.add("center_crop_pad").input({6}, x).value({size}).expect(std::move(expected));
  };
  row(6, {1, 2, 3, 4, 5, 6});
  row(4, {2, 3, 4, 5});
  row(3, {2, 3, 4});  // of an odd difference one more is cut off behind
  row(9, {0, 1, 2, 3, 4, 5, 6, 0, 0});
  row(0, {});
  set.add("center_crop_pad").input({2, 3}, x).value({4, 1}).expect({0, 2, 5, 0}, Shape{4, 1});
  set.add("center_crop_pad")
      .input({2, 3}, x)
      .value({5})
      .param("axes", {-1})
      .expect({0, 1, 2, 3, 0, 0, 4, 5, 6, 0}, Shape{2, 5});
  set.add("center_crop_pad").input({0, 3}).value({2, 2}).expect({0, 0, 0, 0});
  set.add("center_crop_pad").input({2, 5, 20, 8}).value({10, 10}).param("axes", {2, 3});
  set.add("center_crop_pad").input({1, 16, 7, 9}).value({3, 9, 7}).param("axes", {1, 3, 2});
  set.add("center_crop_pad").input({2, 8, 30, 31}).value({2, 3, 28, 40});
  for (const DataType type : {DataType::float64, DataType::int64, DataType::uint8})
    set.add("center_crop_pad").of(type).input({3, 4, 5}, integers()).value({5, 3, 4});
}

}  // namespace softneuro::test
