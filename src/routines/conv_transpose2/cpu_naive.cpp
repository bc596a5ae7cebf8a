// conv_transpose1, conv_transpose2, conv_transpose3 cpu/naive: the specification, written as a
// gather: each output element sums what the inputs that meet it bring. In double, integers in
// int64.
#include "routines/conv2/naive_conv.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// The input position that reaches output `o` through kernel position `k`; −1 if there is none.
std::int64_t source(const WindowAxis& axis, std::int64_t o, std::int64_t k) noexcept {
  const std::int64_t at = o + axis.pad_begin - k * axis.dilation;
  if (at < 0 || at % axis.stride != 0 || at / axis.stride >= axis.input) return -1;
  return at / axis.stride;
}

struct TransposedConvSum {
  template <class Sum>
  static Sum sum(const ConvGeometry& g, const Context& context, std::int64_t n, std::int64_t m,
                 std::int64_t position) noexcept {
    const auto& [az, ay, ax] = g.window.axes;
    const std::int64_t z = position / (ay.output * ax.output);
    const std::int64_t y = position / ax.output % ay.output;
    const std::int64_t x = position % ax.output;
    Sum sum = 0;
    for (std::int64_t c = 0; c < g.in; ++c)
      for (std::int64_t kz = 0; kz < az.kernel; ++kz)
        for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
          for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
            const std::int64_t iz = source(az, z, kz), iy = source(ay, y, ky),
                               ix = source(ax, x, kx);
            if (iz < 0 || iy < 0 || ix < 0) continue;
            const std::int64_t channel = m / g.out * g.in + c;  // of x, within the image
            const std::int64_t at =
                (((n * g.channels_in() + channel) * az.input + iz) * ay.input + iy) * ax.input + ix;
            const std::int64_t weight =
                (((channel * g.out + m % g.out) * az.kernel + kz) * ay.kernel + ky) * ax.kernel +
                kx;
            sum = multiply_add(sum, load_as<Sum>(context.input(0), at),
                               load_as<Sum>(context.input(1), weight));
          }
    return sum;
  }
};

Result<std::unique_ptr<Kernel>> make_naive_conv_transpose(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, transposed_conv_geometry(problem));
  return make_naive_conv<TransposedConvSum>(problem, geometry);
}

}  // namespace

Status register_routine_conv_transpose2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"conv_transpose1", "conv_transpose2", "conv_transpose3"},
                   make_naive_conv_transpose);
}

}  // namespace softneuro
