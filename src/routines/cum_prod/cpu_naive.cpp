// cum_prod cpu/naive: the specification. Products in double, or in int64 for integers.
#include "core/base/element.h"
#include "core/routine/registry.h"

namespace softneuro {
namespace {

double product_of(double a, double b) {
  return a * b;
}
// Wraps.
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

class NaiveCumProdKernel final : public Kernel {
 public:
  NaiveCumProdKernel(int axis, bool exclusive, bool reverse)
      : axis_(axis), exclusive_(exclusive), reverse_(reverse) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t first = o * x.shape[axis_] * inner + i;
        if (is_float(x.type))
          multiply_row<double>(x, context.output(0), first, inner);
        else
          multiply_row<std::int64_t>(x, context.output(0), first, inner);
      }
    return {};
  }

 private:
  template <class Product>
  void multiply_row(const TensorView& x, const TensorView& y, std::int64_t first,
                    std::int64_t step) const noexcept {
    const std::int64_t count = x.shape[axis_];
    Product product = 1;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t at = first + (reverse_ ? count - 1 - n : n) * step;
      const Product before = product;
      product = product_of(product, load_as<Product>(x, at));
      store_as<Product>(y, at, exclusive_ ? before : product);
    }
  }

  int axis_;
  bool exclusive_, reverse_;
};

class NaiveCumProd final : public Routine {
 public:
  NaiveCumProd() : Routine("cum_prod", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const std::vector<std::int64_t> axes = problem.integers(1);
    if (axes.size() != 1)
      return invalid_argument("input 1 (axis) must have one element, not {}", axes.size());
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[0], problem.inputs[0].shape.rank()));
    return make_kernel<NaiveCumProdKernel>(axis, problem.params.integer("exclusive") != 0,
                                           problem.params.integer("reverse") != 0);
  }
};

}  // namespace

Status register_routine_cum_prod_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveCumProd>());
}

}  // namespace softneuro
