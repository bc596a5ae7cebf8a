// conv1, conv2, conv3 cpu/naive: the specification. Sums in double, integers in int64.
#include "routines/conv2/naive_conv.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Σ over the group's channels and the kernel; outside of x is zero.
struct ConvSum {
  template <class Sum>
  static Sum sum(const ConvGeometry& g, const Context& context, std::int64_t n, std::int64_t m,
                 std::int64_t position) noexcept {
    Sum sum = 0;
    for (std::int64_t c = 0; c < g.in; ++c) {
      const std::int64_t channel = n * g.channels_in() + m / g.out * g.in + c;
      const std::int64_t x = channel * g.window.input_elements();
      const std::int64_t w = (m * g.in + c) * g.window.kernel_elements();
      for_taps(g.window, position, [&](std::int64_t tap, std::int64_t at) {
        if (at >= 0)
          sum = multiply_add(sum, load_as<Sum>(context.input(0), x + at),
                             load_as<Sum>(context.input(1), w + tap));
      });
    }
    return sum;
  }
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  return make_naive_conv<ConvSum>(problem, geometry);
}

}  // namespace

Status register_routine_conv2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"conv1", "conv2", "conv3"}, make);
}

}  // namespace softneuro
