// unary cpu/naive: the specification, as in core/graph/elementwise.h.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveUnaryKernel final : public Kernel {
 public:
  NaiveUnaryKernel(UnaryOp op, double alpha, double beta, bool in_place)
      : op_(op), alpha_(alpha), beta_(beta), in_place_(in_place) {}
  int in_place_input() const noexcept override { return in_place_ ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_float(x.type)) {
        store(y, i, apply(op_, load(x, i), alpha_, beta_));
      } else if (x.type == DataType::uint64) {
        const auto value = static_cast<std::uint64_t>(load_integer(x, i));
        store_integer(y, i, static_cast<std::int64_t>(apply_unsigned(op_, value, alpha_, beta_)));
      } else {
        store_integer(y, i, apply_integer(op_, load_integer(x, i), alpha_, beta_));
      }
    }
    return {};
  }

 private:
  UnaryOp op_;
  double alpha_, beta_;
  bool in_place_;
};

Result<std::unique_ptr<Kernel>> make_naive_unary(const Problem& problem) {
  UnaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no unary op '{}'", problem.params.text("op"));
  const bool in_place = size_of(problem.inputs[0].type) == size_of(problem.outputs[0].type);
  return make_kernel<NaiveUnaryKernel>(op, problem.params.real("alpha"),
                                       problem.params.real("beta"), in_place);
}

}  // namespace

Status register_routine_unary_cpu_naive(Registry& registry) {
  return add_naive(registry, {"unary"}, make_naive_unary);
}

}  // namespace softneuro
