// Layers that are large enough for the routines of library plugins to partition them into chunks.
#include <string>

#include "numeric/problem_set.h"

namespace softneuro::test {

void add_problems_chunks(ProblemSet& set) {
  set.add("unary").input({3, 9001}).param("op", "tanh");
  set.add("unary").input({1, 48, 25, 27}).param("op", "abs").post_op(UnaryOp::square);
  for (const Shape& b : {Shape{2, 48, 17, 19}, Shape{1, 48, 1, 1}, Shape{2, 48, 1, 1},
                         Shape{17, 19}, Shape{1}, Shape{2, 1, 17, 19}})
    for (const char* const op : {"add", "sub", "mul", "div"}) {
      set.add("binary").input({2, 48, 17, 19}).input(b, uniform(0.5, 2)).param("op", op);
      set.add("binary").input(b, uniform(0.5, 2)).input({2, 48, 17, 19}).param("op", op);
    }
  set.add("binary").input({6, 700}).input({6, 1}).param("op", "add").post_op(UnaryOp::relu);
  set.add("softmax").input({41, 777});
  set.add("softmax").input({41, 777}).param("log", 1);
  set.add("softmax").input({1, 48, 23, 25}).param("axis", 1);
  set.add("reduce").input({3, 32, 17, 19}).value({2, 3}).param("op", "mean");
  set.add("reduce").input({3, 32, 17, 19}).value({2, 3}).param("op", "sum").param("keepdims", 0);
  set.add("reduce").input({1, 64, 23, 19}).value({2, 3}).param("op", "mean");
  for (const char* const mode : {"nearest", "linear"})
    for (const std::int64_t n : {1, 3})
      set.add("resize")
          .input({n, 32, 11, 12})
          .no_input()
          .no_input()
          .value({n, 32, 22, 36})
          .param("mode", mode);
  set.add("resize")  // other coordinates
      .input({1, 8, 20, 30})
      .no_input()
      .no_input()
      .value({1, 8, 40, 45})
      .param("mode", "linear")
      .param("coordinate_mode", "align_corners");
  for (const std::int64_t n : {1, 3})
    set.add("batch_norm")
        .input({n, 48, 21, 23})
        .constant({48})
        .constant({48})
        .constant({48})
        .constant({48}, uniform(0.5, 2));
  for (const char* const type : {"max_pool2", "avg_pool2"})
    for (const std::int64_t n : {1, 3})
      set.add(type)
          .input({n, 48, 25, 27})
          .param("kernel", {3, 3})
          .param("strides", {2, 2})
          .param("pads", {1, 1, 1, 1});
  set.add("avg_pool2").input({2, 64, 14, 14}).param("kernel", {14, 14});
  for (const char* const direction : {"forward", "reverse", "bidirectional"}) {
    const std::int64_t d = std::string(direction) == "bidirectional" ? 2 : 1;
    for (const std::int64_t layout : {0, 1}) {
      const Shape x = layout == 0 ? Shape{5, 26, 12} : Shape{26, 5, 12};
      const auto add = [&](const char* type, std::int64_t gates) -> Case& {
        return set.add(type)
            .input(x)
            .constant({d, gates * 20, 12}, normal(0.2))
            .constant({d, gates * 20, 20}, normal(0.2))
            .constant({d, 2 * gates * 20})
            .param("direction", direction)
            .param("layout", layout);
      };
      add("lstm", 4).output_count(3);
      add("lstm", 4).outputs_given({false, true, false});
      add("gru", 3).output_count(2);
      add("gru", 3).output_count(2).param("linear_before_reset", 1);
      add("rnn", 1).output_count(2);
    }
  }
  set.add("det").input({41, 9, 9}).tolerance(1e-2, 1e-4);
  set.add("det").input({2, 70, 70}, normal(0.1)).tolerance(1e-4, 1e-3);
  set.add("matmul").input({4, 33, 40}).input({4, 40, 50});
  set.add("matmul").input({1, 133, 140}).input({140, 50});
  set.add("matmul").input({3, 1, 70, 33}).input({2, 33, 65}).param("transpose_b", 0);
  set.add("matmul")
      .input({2, 3, 60, 80})
      .input({1, 3, 70, 60})
      .param("transpose_a", 1)
      .param("transpose_b", 1);
  for (const char* const equation : {"bhid,bhjd->bhij", "bihd,bjhd->bhij", "bhij,bjhd->bihd"}) {
    const bool second = std::string(equation) == "bhij,bjhd->bihd";
    const bool first = std::string(equation) == "bhid,bhjd->bhij";
    const Shape q = first    ? Shape{2, 3, 40, 20}
                    : second ? Shape{2, 3, 40, 44}
                             : Shape{2, 40, 3, 20};
    const Shape k = first ? Shape{2, 3, 44, 20} : Shape{2, 44, 3, 20};
    set.add("einsum").param("equation", equation).input(q).input(k);
  }
  set.add("einsum").param("equation", "nchw,kc->nkhw").input({2, 30, 9, 11}).input({40, 30});
}

}  // namespace softneuro::test
