// cumsum cpu/naive: the specification. Sums in double, or in int64 for integers.
#include "core/base/element.h"
#include "core/routine/registry.h"

namespace softneuro {
namespace {

class NaiveCumsumKernel final : public Kernel {
 public:
  NaiveCumsumKernel(int axis, bool exclusive, bool reverse)
      : axis_(axis), exclusive_(exclusive), reverse_(reverse) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        sum_row(x, y, o * x.shape[axis_] * inner + i, x.shape[axis_], inner);
    return {};
  }

 private:
  void sum_row(const TensorView& x, const TensorView& y, std::int64_t base, std::int64_t count,
               std::int64_t step) const noexcept {
    double sum = 0;
    std::uint64_t integer_sum = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t at = base + (reverse_ ? count - 1 - n : n) * step;
      const double real_before = sum;
      const std::uint64_t integer_before = integer_sum;
      if (is_float(x.type)) {
        sum += load(x, at);
        store(y, at, exclusive_ ? real_before : sum);
      } else {
        integer_sum += static_cast<std::uint64_t>(load_integer(x, at));
        store_integer(y, at, static_cast<std::int64_t>(exclusive_ ? integer_before : integer_sum));
      }
    }
  }

  int axis_;
  bool exclusive_, reverse_;
};

class NaiveCumsum final : public Routine {
 public:
  NaiveCumsum() : Routine("cumsum", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const std::vector<std::int64_t> axis_value = problem.integers(1);
    if (axis_value.size() != 1)
      return invalid_argument("input 1 (axis) must have one element, not {}", axis_value.size());
    SN_ASSIGN_OR_RETURN(const int axis,
                        normalize_axis(axis_value[0], problem.inputs[0].shape.rank()));
    return make_kernel<NaiveCumsumKernel>(axis, problem.params.integer("exclusive") != 0,
                                          problem.params.integer("reverse") != 0);
  }
};

}  // namespace

Status register_routine_cumsum_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveCumsum>());
}

}  // namespace softneuro
