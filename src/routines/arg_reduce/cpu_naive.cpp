// arg_reduce cpu/naive: the specification. NaN beats every number, as in numpy.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveArgReduceKernel final : public Kernel {
 public:
  NaiveArgReduceKernel(int axis, bool largest, bool last)
      : axis_(axis), largest_(largest), last_(last) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t count = x.shape[axis_];
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t base = o * count * inner + i;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < count; ++k)
          if (beats(x, base + k * inner, base + best * inner)) best = k;
        *y++ = best;
      }
    return {};
  }

 private:
  // Element i is chosen rather than j, which comes before it.
  bool beats(const TensorView& x, std::int64_t i, std::int64_t j) const noexcept {
    if (is_float(x.type)) {
      const double a = load(x, i), b = load(x, j);
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && (last_ || !std::isnan(b));
      return a == b ? last_ : (a > b) == largest_;
    }
    const std::int64_t a = load_integer(x, i), b = load_integer(x, j);
    if (a == b) return last_;
    const bool greater = x.type == DataType::uint64
                             ? static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(b)
                             : a > b;
    return greater == largest_;
  }

  int axis_;
  bool largest_, last_;
};

Result<std::unique_ptr<Kernel>> make_naive_arg_reduce(const Problem& problem) {
  const Params& params = problem.params;
  SN_ASSIGN_OR_RETURN(const int axis,
                      normalize_axis(params.integer("axis"), problem.inputs[0].shape.rank()));
  return make_kernel<NaiveArgReduceKernel>(axis, params.text("op") == "max",
                                           params.integer("select_last_index") != 0);
}

}  // namespace

Status register_routine_arg_reduce_cpu_naive(Registry& registry) {
  return add_naive(registry, {"arg_reduce"}, make_naive_arg_reduce);
}

}  // namespace softneuro
