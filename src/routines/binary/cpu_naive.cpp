// binary cpu/naive: the specification, as in core/graph/elementwise.h.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_binary(const Problem& problem) {
  BinaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no binary op '{}'", problem.params.text("op"));
  // An operand that is read exactly where the result is written.
  int in_place = -1;
  for (int i = 1; i >= 0; --i) {
    const TensorSpec& operand = problem.inputs[static_cast<std::size_t>(i)];
    if (operand.shape == problem.outputs[0].shape &&
        size_of(operand.type) == size_of(problem.outputs[0].type))
      in_place = i;
  }
  return make_function_kernel({.in_place_input = in_place}, [=](Context& context) {
    const TensorView& a = context.input(0);
    const TensorView& b = context.input(1);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return;
    const Shape a_strides = broadcast_strides(a.shape, y.shape);
    const Shape b_strides = broadcast_strides(b.shape, y.shape);
    // pow may raise an integer to a real power.
    const bool real = is_float(a.type) || is_float(b.type);
    Shape index = y.shape;
    for (int d = 0; d < index.rank(); ++d) index[d] = 0;
    std::int64_t i = 0;
    do {
      const std::int64_t ia = offset_of(index, a_strides), ib = offset_of(index, b_strides);
      if (real)
        store(y, i, apply(op, load(a, ia), load(b, ib)));
      else if (a.type == DataType::uint64)
        store_integer(y, i,
                      static_cast<std::int64_t>(
                          apply_unsigned(op, static_cast<std::uint64_t>(load_integer(a, ia)),
                                         static_cast<std::uint64_t>(load_integer(b, ib)))));
      else
        store_integer(y, i, apply_integer(op, load_integer(a, ia), load_integer(b, ib)));
      ++i;
    } while (next_index(index, y.shape));
  });
}

}  // namespace

Status register_routine_binary_cpu_naive(Registry& registry) {
  return add_naive(registry, {"binary"}, make_naive_binary);
}

}  // namespace softneuro
