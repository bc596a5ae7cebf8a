// max_pool1, max_pool2, max_pool3 cpu/naive: the specification.
#include "core/base/element.h"
#include "routines/conv2/geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveMaxPoolKernel final : public Kernel {
 public:
  NaiveMaxPoolKernel(const Window& window, std::int64_t planes, bool column_major)
      : window_(window), planes_(planes), column_major_(column_major) {}

  Status run(Context& context) const noexcept override {
    const std::int64_t elements = planes_ * window_.output_elements();
    for (std::int64_t i = 0; i < elements && !context.pool().cancelled(); ++i) {
      if (is_float(context.input(0).type))
        pool<double>(context, i);
      else
        pool<std::int64_t>(context, i);
    }
    return {};
  }

 private:
  // The first largest element; NaN is larger than everything.
  template <class Value>
  void pool(Context& context, std::int64_t to) const noexcept {
    const std::int64_t plane = to / window_.output_elements() * window_.input_elements();
    const bool is_unsigned = context.input(0).type == DataType::uint64;
    Value best = 0;
    std::int64_t best_at = -1;
    for_taps(window_, to % window_.output_elements(), [&](std::int64_t, std::int64_t at) {
      if (at < 0) return;
      const Value value = load_as<Value>(context.input(0), plane + at);
      const bool larger = is_unsigned
                              ? static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(best)
                              : value > best || (value != value && best == best);
      if (best_at >= 0 && !larger) return;
      best = value;
      best_at = plane + (column_major_ ? column_major(at) : at);
    });
    // A window of padding only has no largest element: the type's smallest stands for it.
    if (best_at < 0)
      store(context.output(0), to, -INFINITY);
    else
      store_as(context.output(0), to, best);
    if (context.has_output(1)) store_integer(context.output(1), to, best_at);
  }

  // Where element `at` of a plane would lie if the first axis were the fastest.
  std::int64_t column_major(std::int64_t at) const noexcept {
    const auto& [az, ay, ax] = window_.axes;
    const std::int64_t z = at / (ay.input * ax.input), y = at / ax.input % ay.input;
    return (at % ax.input * ay.input + y) * az.input + z;
  }

  Window window_;
  std::int64_t planes_;
  bool column_major_;
};

Result<std::unique_ptr<Kernel>> make_naive_max_pool(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const Window window,
                      make_window(problem.params, x, problem.params.integers("kernel")));
  return make_kernel<NaiveMaxPoolKernel>(window, x.elements(0, 2),
                                         problem.params.integer("storage_order") != 0);
}

}  // namespace

Status register_routine_max_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"max_pool1", "max_pool2", "max_pool3"}, make_naive_max_pool);
}

}  // namespace softneuro
