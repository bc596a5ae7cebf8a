// clip cpu/naive: the specification. y = min(max(x, low), high); an absent limit does nothing.
#include "core/base/element.h"
#include "core/routine/function_routine.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

// NaN in x stays; comparisons are made in the data type itself, so all of int64 is exact.
template <class T>
T clip(T x, const T* low, const T* high) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    if (low != nullptr && to_float(x) < to_float(*low)) x = *low;
    if (high != nullptr && to_float(x) > to_float(*high)) x = *high;
  } else {
    if (low != nullptr && x < *low) x = *low;
    if (high != nullptr && x > *high) x = *high;
  }
  return x;
}

Applicability applicable(const Problem& problem) {
  for (std::size_t i = 1; i < 3; ++i)
    if (problem.has_input(i) && problem.inputs[i].shape.elements() != 1)
      return Applicability::no("a limit must have one element");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_naive_clip(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    dispatch(x.type, 0, [&](auto tag) {
      using T = decltype(tag);
      const T* low = context.has_input(1) ? constants.input(context, 1).as<T>() : nullptr;
      const T* high = context.has_input(2) ? constants.input(context, 2).as<T>() : nullptr;
      for (std::int64_t i = 0; i < count; ++i) y.as_mutable<T>()[i] = clip(x.as<T>()[i], low, high);
      return 0;
    });
  });
}

}  // namespace

Status register_routine_clip_cpu_naive(Registry& registry) {
  return add_routines(registry, {"clip"}, {"cpu"}, "naive",
                      {.applicable = applicable, .create = make_naive_clip});
}

}  // namespace softneuro
