// layer_norm and rms_norm cpu/naive: the specification. Statistics over the trailing axes in
// double; rms_norm neither subtracts the mean nor has a bias.
#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// The element of scale or bias that stands opposite element `i` of x.
double factor(const TensorView& view, const Shape& x, std::int64_t i) noexcept {
  const Shape strides = broadcast_strides(view.shape, x);
  std::int64_t at = 0;
  for (int k = x.rank() - 1; k >= 0; --k) {
    at += i % x[k] * strides[k];
    i /= x[k];
  }
  return load(view, at);
}

template <bool centred>
Result<std::unique_ptr<Kernel>> make_naive_layer_norm(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const double epsilon = problem.params.real("epsilon");
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const std::int64_t rows = x.shape.elements(0, axis);
    const std::int64_t columns = x.shape.elements(axis, x.shape.rank());
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = r * columns;
      double mean = 0, variance = 0;
      for (std::int64_t i = begin; centred && i < begin + columns; ++i) mean += load(x, i);
      mean /= static_cast<double>(columns);
      for (std::int64_t i = begin; i < begin + columns; ++i)
        variance += (load(x, i) - mean) * (load(x, i) - mean);
      variance /= static_cast<double>(columns);
      const double inverse = 1 / std::sqrt(variance + epsilon);
      for (std::int64_t i = begin; i < begin + columns; ++i) {
        double y = (load(x, i) - mean) * inverse;
        if (context.has_input(1)) y *= factor(context.input(1), x.shape, i);
        if (context.has_input(2)) y += factor(context.input(2), x.shape, i);
        store(context.output(0), i, y);
      }
      if (context.has_output(1)) store(context.output(1), r, mean);
      if (context.has_output(2)) store(context.output(2), r, inverse);
    }
  });
}

}  // namespace

Status register_routine_layer_norm_cpu_naive(Registry& registry) {
  SN_RETURN_IF_ERROR(add_naive(registry, {"layer_norm"}, make_naive_layer_norm<true>));
  return add_naive(registry, {"rms_norm"}, make_naive_layer_norm<false>);
}

}  // namespace softneuro
