// Layers with a single routine, cpu/naive, most of which look at the values of an input: what each
// means is tested in tests/unit/movement and by the ONNX operator tests; here it is held to what a
// kernel owes (bounds, inputs left alone, the same bits with any number of threads) and to an
// example worked by hand.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

void add_gathers(ProblemSet& set) {
  const auto at = [](std::vector<double> indices) { return explicit_values(std::move(indices)); };
  set.add("gather")
      .input({3, 2}, at({1, 2, 3, 4, 5, 6}))
      .input({2, 2}, at({0, -1, 1, 0}), DataType::int64)
      .param("axis", 0)
      .expect({1, 2, 5, 6, 3, 4, 1, 2}, Shape{2, 2, 2});
  set.add("gather")
      .input({4, 7, 30})
      .input({11}, integers(-7, 6), DataType::int64)
      .param("axis", 1);
  set.add("gather").input({5}).input({2}, at({0, 5}), DataType::int64).fails();
  set.add("gather_elements")
      .input({2, 2}, at({1, 2, 3, 4}))
      .input({2, 2}, at({0, 0, 1, 0}), DataType::int64)
      .param("axis", 1)
      .expect({1, 1, 4, 3});
  set.add("gather_elements")
      .input({5, 6, 7})
      .input({5, 6, 9}, integers(-7, 6), DataType::int64)
      .param("axis", 2);
  set.add("gather_nd")
      .input({2, 2}, at({0, 1, 2, 3}))
      .input({2, 2}, at({0, 0, 1, 1}), DataType::int64)
      .expect({0, 3});
  set.add("gather_nd")
      .input({3, 4, 5})
      .input({3, 6, 1}, integers(-4, 3), DataType::int64)
      .param("batch_dims", 1);
}

void add_scatters(ProblemSet& set) {
  const auto list = [](std::vector<double> values) { return explicit_values(std::move(values)); };
  set.add("scatter_elements")
      .input({1, 5}, list({1, 2, 3, 4, 5}))
      .input({1, 2}, list({1, -2}), DataType::int64)
      .input({1, 2}, list({11, 21}))
      .param("axis", 1)
      .expect({1, 11, 3, 21, 5});
  for (const char* reduction : {"add", "mul", "min", "max"})
    set.add("scatter_elements")
        .input({6, 7}, integers())
        .input({4, 7}, integers(-6, 5), DataType::int64)
        .input({4, 7}, integers())
        .param("axis", 0)
        .param("reduction", reduction);
  set.add("scatter_elements")
      .input({2, 3}, list({1, 2, 3, 4, 5, 6}))
      .input({0, 3}, list({}), DataType::int64)
      .input({0, 3}, list({}))
      .expect({1, 2, 3, 4, 5, 6});
  set.add("scatter_nd")
      .input({4}, list({1, 2, 3, 4}))
      .input({2, 1}, list({3, 0}), DataType::int64)
      .input({2}, list({9, 8}))
      .expect({8, 2, 3, 9});
  set.add("scatter_nd")
      .input({6, 5, 4})
      .input({3, 2}, list({0, 4, 5, 0, 2, 2}), DataType::int64)
      .input({3, 4});
  set.add("scatter_nd").input({4}).input({1, 1}, list({4}), DataType::int64).input({1}).fails();
}

// Sizes that only the data tell.
void add_pickers(ProblemSet& set) {
  const auto list = [](std::vector<double> values) { return explicit_values(std::move(values)); };
  set.add("nonzero").input({2, 2}, list({1, 0, 3, 4})).expect({0, 1, 1, 0, 0, 1}, Shape{2, 3});
  set.add("nonzero").input({7, 9, 5}, integers(0, 1));
  set.add("compress")
      .input({3, 2}, list({1, 2, 3, 4, 5, 6}))
      .input({3}, list({0, 1, 1}), DataType::boolean)
      .param("axis", 0)
      .expect({3, 4, 5, 6}, Shape{2, 2});
  set.add("compress").input({40, 9}).input({300}, integers(0, 1), DataType::boolean);
  set.add("unique")
      .input({6}, list({2, 1, 1, 3, 4, 3}))
      .output_count(4)
      .expect({1, 2, 3, 4})
      .expect_output(3, {2, 1, 2, 1});
  set.add("unique").input({20, 3}, integers(0, 2)).param("axis", 0).output_count(4);
  set.add("non_max_suppression")
      .input({1, 3, 4}, list({0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11}))
      .input({1, 1, 3}, list({0.9, 0.75, 0.95}))
      .scalar(3)
      .constant({}, list({0.5}))
      .constant({}, list({0}))
      .expect({0, 0, 2, 0, 0, 0}, Shape{2, 3});
}

void add_makers(ProblemSet& set) {
  const auto list = [](std::vector<double> values) { return explicit_values(std::move(values)); };
  set.add("shape").input({2, 3, 4}).expect({2, 3, 4});
  set.add("shape").input({2, 3, 4}).param("start", -1).expect({4});
  set.add("size").input({2, 3, 4}).expect({24});
  set.add("eye_like").input({2, 3}).param("k", 1).expect({0, 1, 0, 0, 0, 1});
  set.add("fill").value({2, 3}).constant({1}, list({7})).expect({7, 7, 7, 7, 7, 7}, Shape{2, 3});
  set.add("range").scalar(2).scalar(9).scalar(3).expect({2, 5, 8});
  set.add("one_hot")
      .input({3}, list({0, 2, -1}), DataType::int64)
      .scalar(3)
      .constant({2}, list({-1, 5}))
      .expect({5, -1, -1, -1, -1, 5, -1, -1, 5}, Shape{3, 3});
  set.add("trilu").input({2, 3}, list({1, 2, 3, 4, 5, 6})).expect({1, 2, 3, 0, 5, 6});
  set.add("trilu").input({3, 17, 13}).scalar(-4).param("upper", 0);
  set.add("det").input({2, 2, 2}, list({1, 2, 3, 4, 2, 0, 0, 5})).expect({-2, 10});
  set.add("det").input({3, 6, 6}).tolerance(1e-4, 1e-4);  // sums of products of six
}

void add_samplers(ProblemSet& set) {
  const auto list = [](std::vector<double> values) { return explicit_values(std::move(values)); };
  set.add("reverse_sequence")
      .input({3, 2}, list({1, 2, 3, 4, 5, 6}))
      .input({2}, list({2, 3}), DataType::int64)
      .expect({3, 6, 1, 4, 5, 2});
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      set.add("grid_sample")
          .input({2, 3, 5, 6})
          .input({2, 4, 7, 2}, uniform(-1.3, 1.3))
          .param("mode", mode)
          .param("padding", padding);
  set.add("grid_sample")
      .input({1, 1, 2, 2}, list({1, 2, 3, 4}))
      .input({1, 1, 2, 2}, list({0, 0, -1, -1}))
      .param("align_corners", 1)
      .expect({2.5, 1});
  for (const char* mode : {"avg", "max"})
    set.add("roi_align")
        .input({2, 5, 9, 8})
        .input({3, 4}, list({1, 1, 6, 7, 0, 0, 8, 9, 2.5, 3, 4, 4.5}))
        .input({3}, list({0, 1, 1}), DataType::int64)
        .param("mode", mode)
        .param("output_height", 3)
        .param("output_width", 2)
        .param("sampling_ratio", 2);
  set.add("roi_align")
      .input({1, 1, 2, 2}, list({3, 3, 3, 3}))
      .input({1, 4}, list({0, 0, 1, 1}))
      .input({1}, list({0}), DataType::int64)
      .expect({3}, Shape{1, 1, 1, 1});
}

}  // namespace

void add_problems_data(ProblemSet& set) {
  add_gathers(set);
  add_scatters(set);
  add_pickers(set);
  add_makers(set);
  add_samplers(set);
}

}  // namespace softneuro::test
