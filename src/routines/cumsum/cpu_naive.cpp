// cumsum, cum_prod cpu/naive: the specification. In double, or in int64 for integers.
#include "core/base/element.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

double together(bool multiplies, double a, double b) {
  return multiplies ? a * b : a + b;
}
// Wraps.
std::int64_t together(bool multiplies, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(multiplies ? x * y : x + y);
}

class NaiveCumulateKernel final : public Kernel {
 public:
  NaiveCumulateKernel(bool multiplies, int axis, bool exclusive, bool reverse)
      : multiplies_(multiplies), axis_(axis), exclusive_(exclusive), reverse_(reverse) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t first = o * x.shape[axis_] * inner + i;
        if (is_float(x.type))
          run_row<double>(x, context.output(0), first, inner);
        else
          run_row<std::int64_t>(x, context.output(0), first, inner);
      }
    return {};
  }

 private:
  template <class Value>
  void run_row(const TensorView& x, const TensorView& y, std::int64_t first,
               std::int64_t step) const noexcept {
    const std::int64_t count = x.shape[axis_];
    Value value = multiplies_ ? 1 : 0;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t at = first + (reverse_ ? count - 1 - n : n) * step;
      const Value before = value;
      value = together(multiplies_, value, load_as<Value>(x, at));
      store_as<Value>(y, at, exclusive_ ? before : value);
    }
  }

  bool multiplies_;
  int axis_;
  bool exclusive_, reverse_;
};

class NaiveCumulate final : public Routine {
 public:
  explicit NaiveCumulate(const char* layer_type) : Routine(layer_type, "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const std::vector<std::int64_t> axes = problem.integers(1);
    if (axes.size() != 1)
      return invalid_argument("input 1 (axis) must have one element, not {}", axes.size());
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[0], problem.inputs[0].shape.rank()));
    return make_kernel<NaiveCumulateKernel>(layer_type() == "cum_prod", axis,
                                            problem.params.integer("exclusive") != 0,
                                            problem.params.integer("reverse") != 0);
  }
};

}  // namespace

Status register_routine_cumsum_cpu_naive(Registry& registry) {
  return add_each<NaiveCumulate>(registry, {"cumsum", "cum_prod"});
}

}  // namespace softneuro
