// conv_transpose1, conv_transpose2, conv_transpose3 cpu/naive: the specification, written as a
// gather: each output element sums what the inputs that meet it bring. In double, integers in
// int64.
#include "core/base/element.h"
#include "routines/add_each.h"
#include "routines/conv2/geometry.h"

namespace softneuro {
namespace {

// The input position that reaches output `o` through kernel position `k`; −1 if there is none.
std::int64_t source(const WindowAxis& axis, std::int64_t o, std::int64_t k) noexcept {
  const std::int64_t at = o + axis.pad_begin - k * axis.dilation;
  if (at < 0 || at % axis.stride != 0 || at / axis.stride >= axis.input) return -1;
  return at / axis.stride;
}

class NaiveConvTransposeKernel final : public Kernel {
 public:
  explicit NaiveConvTransposeKernel(const ConvGeometry& geometry) : g_(geometry) {}

  Status run(Context& context) const noexcept override {
    if (is_float(context.input(0).type))
      convolve<double>(context);
    else
      convolve<std::int64_t>(context);
    return {};
  }

 private:
  template <class Sum>
  void convolve(Context& context) const noexcept {
    const auto& [az, ay, ax] = g_.window.axes;
    const std::int64_t channels = g_.channels_out();
    std::int64_t index = 0;
    for (std::int64_t n = 0; n < g_.batch; ++n)
      for (std::int64_t m = 0; m < channels; ++m)
        for (std::int64_t z = 0; z < az.output; ++z)
          for (std::int64_t y = 0; y < ay.output; ++y)
            for (std::int64_t x = 0; x < ax.output; ++x) {
              if (context.pool().cancelled()) return;
              const Sum bias = g_.bias ? load_as<Sum>(context.input(2), m) : Sum{0};
              store_as(context.output(0), index++,
                       multiply_add(bias, window_sum<Sum>(context, n, m, z, y, x), Sum{1}));
            }
  }

  template <class Sum>
  Sum window_sum(Context& context, std::int64_t n, std::int64_t m, std::int64_t z, std::int64_t y,
                 std::int64_t x) const noexcept {
    const auto& [az, ay, ax] = g_.window.axes;
    Sum sum = 0;
    for (std::int64_t c = 0; c < g_.in; ++c)
      for (std::int64_t kz = 0; kz < az.kernel; ++kz)
        for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
          for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
            const std::int64_t iz = source(az, z, kz), iy = source(ay, y, ky),
                               ix = source(ax, x, kx);
            if (iz < 0 || iy < 0 || ix < 0) continue;
            const std::int64_t channel = m / g_.out * g_.in + c;  // of x, within the image
            const std::int64_t at =
                (((n * g_.channels_in() + channel) * az.input + iz) * ay.input + iy) * ax.input +
                ix;
            const std::int64_t weight =
                (((channel * g_.out + m % g_.out) * az.kernel + kz) * ay.kernel + ky) * ax.kernel +
                kx;
            sum = multiply_add(sum, load_as<Sum>(context.input(0), at),
                               load_as<Sum>(context.input(1), weight));
          }
    return sum;
  }

  ConvGeometry g_;
};

class NaiveConvTranspose final : public Routine {
 public:
  explicit NaiveConvTranspose(const char* layer_type) : Routine(layer_type, "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, transposed_conv_geometry(problem));
    return make_kernel<NaiveConvTransposeKernel>(geometry);
  }
};

}  // namespace

Status register_routine_conv_transpose2_cpu_naive(Registry& registry) {
  return add_each<NaiveConvTranspose>(registry,
                                      {"conv_transpose1", "conv_transpose2", "conv_transpose3"});
}

}  // namespace softneuro
