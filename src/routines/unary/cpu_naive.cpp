// unary cpu/naive: the specification, as in core/graph/elementwise.h.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_unary(const Problem& problem) {
  UnaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no unary op '{}'", problem.params.text("op"));
  const bool in_place = size_of(problem.inputs[0].type) == size_of(problem.outputs[0].type);
  const double alpha = problem.params.real("alpha");
  const double beta = problem.params.real("beta");
  return make_function_kernel({.in_place_input = in_place ? 0 : -1}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_float(x.type)) {
        store(y, i, apply(op, load(x, i), alpha, beta));
      } else if (x.type == DataType::uint64) {
        const auto value = static_cast<std::uint64_t>(load_integer(x, i));
        store_integer(y, i, static_cast<std::int64_t>(apply_unsigned(op, value, alpha, beta)));
      } else {
        store_integer(y, i, apply_integer(op, load_integer(x, i), alpha, beta));
      }
    }
  });
}

}  // namespace

Status register_routine_unary_cpu_naive(Registry& registry) {
  return add_naive(registry, {"unary"}, make_naive_unary);
}

}  // namespace softneuro
