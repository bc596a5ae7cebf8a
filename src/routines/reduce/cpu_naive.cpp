// reduce cpu/naive: the specification. Sums in double, or in int64 for integers.
#include "core/base/element.h"
#include "core/layers/reduction.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// One element of the output: `base` is where its inputs begin, `plan` which they are.
class Reducer {
 public:
  Reducer(const TensorView& x, const ReductionPlan& plan, std::int64_t base)
      : x_(x), plan_(plan), base_(base), count_(plan.gone.elements()) {}

  double real(ReduceOp op) const {
    switch (op) {
      case ReduceOp::sum:
        return fold(0.0, [](double r, double v) { return r + v; });
      case ReduceOp::mean:
        return real(ReduceOp::sum) / static_cast<double>(count_);
      case ReduceOp::max:
        return fold(-HUGE_VAL, [](double r, double v) { return apply(BinaryOp::max, r, v); });
      case ReduceOp::min:
        return fold(HUGE_VAL, [](double r, double v) { return apply(BinaryOp::min, r, v); });
      case ReduceOp::prod:
        return fold(1.0, [](double r, double v) { return r * v; });
      case ReduceOp::l1:
        return fold(0.0, [](double r, double v) { return r + std::fabs(v); });
      case ReduceOp::l2:
        return std::sqrt(real(ReduceOp::sum_square));
      case ReduceOp::log_sum:
        return std::log(real(ReduceOp::sum));
      case ReduceOp::log_sum_exp: {
        // Relative to the largest, so that nothing overflows.
        const double largest = real(ReduceOp::max);
        if (std::isinf(largest)) return largest;
        return largest +
               std::log(fold(0.0, [&](double r, double v) { return r + std::exp(v - largest); }));
      }
      default:  // sum_square
        return fold(0.0, [](double r, double v) { return r + v * v; });
    }
  }

  // Only for sum, mean, max, min, prod, l1 and sum_square. Precondition for max and min: there
  // are elements.
  std::int64_t integer(ReduceOp op) const {
    const bool wide = x_.type == DataType::uint64;
    const auto binary = [&](BinaryOp f, std::int64_t a, std::int64_t b) {
      return wide ? static_cast<std::int64_t>(apply_unsigned(f, static_cast<std::uint64_t>(a),
                                                             static_cast<std::uint64_t>(b)))
                  : apply_integer(f, a, b);
    };
    const auto with = [&](BinaryOp f) {
      return [&binary, f](std::int64_t r, std::int64_t v) { return binary(f, r, v); };
    };
    switch (op) {
      case ReduceOp::sum:
        return fold_integers(0, with(BinaryOp::add));
      case ReduceOp::mean:
        return binary(BinaryOp::div, integer(ReduceOp::sum), count_);
      case ReduceOp::max:
        return fold_integers(load_integer(x_, base_), with(BinaryOp::max));
      case ReduceOp::min:
        return fold_integers(load_integer(x_, base_), with(BinaryOp::min));
      case ReduceOp::prod:
        return fold_integers(1, with(BinaryOp::mul));
      case ReduceOp::l1:
        return fold_integers(0, [&](std::int64_t r, std::int64_t v) {
          return apply_integer(BinaryOp::add, r,
                               !wide && v < 0 ? apply_integer(BinaryOp::sub, 0, v) : v);
        });
      default:  // sum_square
        return fold_integers(0, [](std::int64_t r, std::int64_t v) {
          return apply_integer(BinaryOp::add, r, apply_integer(BinaryOp::mul, v, v));
        });
    }
  }

  bool empty() const { return count_ == 0; }

 private:
  // result = f(result, element) over all elements, in order.
  template <class F>
  double fold(double result, F f) const {
    for_each([&](std::int64_t at) { result = f(result, load(x_, at)); });
    return result;
  }
  template <class F>
  std::int64_t fold_integers(std::int64_t result, F f) const {
    for_each([&](std::int64_t at) { result = f(result, load_integer(x_, at)); });
    return result;
  }
  template <class F>
  void for_each(F f) const {
    if (count_ == 0) return;
    Shape index = plan_.gone;
    for (int d = 0; d < index.rank(); ++d) index[d] = 0;
    do f(base_ + offset_of(index, plan_.gone_strides));
    while (next_index(index, plan_.gone));
  }

  const TensorView& x_;
  const ReductionPlan& plan_;
  std::int64_t base_;
  std::int64_t count_;
};

bool is_exact(ReduceOp op) {
  return op != ReduceOp::l2 && op != ReduceOp::log_sum && op != ReduceOp::log_sum_exp;
}

Result<std::unique_ptr<Kernel>> make_naive_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ReduceOp op, parse_reduce_op(problem.params));
  SN_ASSIGN_OR_RETURN(const std::uint32_t axes, reduced_axes(problem.params, problem.integers(1),
                                                             problem.inputs[0].shape.rank()));
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = y.elements();
    if (count == 0) return;
    const ReductionPlan plan = plan_reduction(x.shape, axes);
    Shape index = plan.kept;
    for (int d = 0; d < index.rank(); ++d) index[d] = 0;
    for (std::int64_t i = 0; i < count; ++i, next_index(index, plan.kept)) {
      const Reducer reducer(x, plan, offset_of(index, plan.kept_strides));
      const bool ordered = op == ReduceOp::max || op == ReduceOp::min;
      if (is_float(x.type) || !is_exact(op))
        store(y, i, reducer.real(op));
      else if (reducer.empty() && ordered)  // the identity: the ends of the data type
        x.type == DataType::boolean ? store_integer(y, i, op == ReduceOp::min)
                                    : store(y, i, op == ReduceOp::max ? -INFINITY : INFINITY);
      else
        store_integer(y, i, reducer.integer(op));
    }
  });
}

}  // namespace

Status register_routine_reduce_cpu_naive(Registry& registry) {
  return add_naive(registry, {"reduce"}, make_naive_reduce);
}

}  // namespace softneuro
