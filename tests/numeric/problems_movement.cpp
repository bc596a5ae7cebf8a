// Layers that move elements, in the layouts and data types that their routines know: concat, split,
// slice, pad, resize, transpose, tile, depth_to_space, space_to_depth, channel_shuffle, views. What
// each of them means is tested in tests/unit/movement.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

void add_concat_and_split(ProblemSet& set) {
  for (const int axis : {0, 1, 2, 3, -1}) {
    Case& concat = set.add("concat").param("axis", axis);
    for (const std::int64_t size : {3, 1, 20}) {
      Shape shape = {2, 5, 4, 3};
      shape[axis < 0 ? 3 : axis] = size;
      concat.input(shape);
    }
    const std::int64_t dim = axis < 0 ? 10 : 4 + 2 * axis;
    set.add("split").input({4, 6, 8, 10}).value({1, dim - 1}).param("axis", axis).output_count(2);
  }
  set.add("concat").input({1, 16, 7, 9}).input({1, 32, 7, 9}).input({1, 5, 7, 9}).param("axis", 1);
  set.add("concat").input({2, 8, 70, 9}).input({2, 24, 70, 9}).param("axis", 1);
  set.add("concat").input({1, 58, 28, 28}).input({1, 58, 28, 28}).param("axis", 1);
  set.add("concat").input({40000}).input({3}).param("axis", 0);
  set.add("concat").input({2, 3, 4, 5}).input({2, 2, 4, 5}).param("axis", 1).post_op(UnaryOp::relu);
}

void add_slices(ProblemSet& set) {
  const auto slice = [&](Shape x, std::vector<std::int64_t> starts, std::vector<std::int64_t> ends,
                         std::vector<std::int64_t> axes, std::vector<std::int64_t> steps) {
    set.add("slice").input(x).value(starts).value(ends).value(axes).value(steps);
  };
  slice({2, 18, 5, 7}, {0}, {9}, {1}, {1});
  slice({2, 18, 5, 7}, {9}, {18}, {1}, {1});
  slice({2, 18, 5, 7}, {1, 0, 6}, {17, 5, 0}, {1, 2, 3}, {3, 2, -1});
  slice({1, 116, 28, 28}, {58}, {116}, {1}, {1});
}

void add_pads(ProblemSet& set) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    set.add("pad").input({2, 5, 6, 7}).value({0, 1, 2, 1, 0, 2, 1, 3}).param("mode", mode);
    set.add("pad").input({1, 5, 6, 7}).value({0, 0, 2, 1, 0, 0, -1, 3}).param("mode", mode);
  }
  set.add("pad")
      .input({2, 5, 6, 7})
      .value({0, 0, 1, 1, 0, 0, 1, 1})
      .constant({}, explicit_values({0.5}))
      .param("mode", "constant");
}

void add_resizes(ProblemSet& set) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const Shape& x : {Shape{1, 3, 5, 6}, Shape{2, 20, 4, 7}, Shape{1, 16, 9, 1}}) {
      const auto resized = [&](std::vector<std::int64_t> sizes) {
        set.add("resize")
            .input(x)
            .no_input()
            .no_input()
            .value(std::move(sizes))
            .param("mode", mode)
            .param("axes", {2, 3});
      };
      resized({10, 12});
      resized({3, 17});
      resized({x[2], 5});
    }
}

void add_rearrangements(ProblemSet& set) {
  set.add("transpose").input({2, 5, 6, 7}).param("perm", {0, 2, 3, 1});
  set.add("transpose").input({2, 5, 6, 7}).param("perm", {0, 3, 1, 2});
  set.add("transpose").input({2, 33, 17, 20}).param("perm", {0, 1, 3, 2});
  set.add("transpose").input({3, 20, 35, 9}).param("perm", {3, 2, 1, 0});
  set.add("transpose").input({1, 70, 66}).param("perm", {0, 2, 1});
  set.add("transpose").input({1, 70, 66}, integers(), DataType::int64).param("perm", {0, 2, 1});
  set.add("transpose").input({1, 70, 66}, integers(), DataType::uint8).param("perm", {0, 2, 1});
  set.add("tile").input({2, 5, 6, 7}).value({1, 2, 1, 3});
  set.add("expand").input({2, 1, 6, 1}).value({2, 5, 6, 7});
  for (const char* mode : {"dcr", "crd"})
    set.add("depth_to_space").input({2, 12, 3, 5}).param("block", 2).param("mode", mode);
  set.add("space_to_depth").input({2, 3, 6, 10}).param("block", 2);
  set.add("channel_shuffle")
      .input({1, 6, 1, 1}, explicit_values({0, 1, 2, 3, 4, 5}))
      .param("groups", 2)
      .expect({0, 3, 1, 4, 2, 5});
  for (const int groups : {1, 2, 3, 4, 12}) {
    set.add("channel_shuffle").input({2, 24, 5, 7}).param("groups", groups);
    set.add("channel_shuffle").input({1, 60, 40}).param("groups", groups);
  }
  set.add("channel_shuffle").input({1, 116, 28, 28}).param("groups", 2);
  set.add("reshape").input({2, 40, 1, 1}).value({2, 40});
  set.add("squeeze").input({2, 40, 1, 1}).value({2, 3});
  set.add("unsqueeze").input({2, 40}).value({2, 3});
  set.add("identity").input({2, 5, 6, 7});
  set.add("flatten").input({2, 40, 1, 1}).param("axis", 1);
}

}  // namespace

void add_problems_movement(ProblemSet& set) {
  add_concat_and_split(set);
  add_slices(set);
  add_pads(set);
  add_resizes(set);
  add_rearrangements(set);
}

}  // namespace softneuro::test
