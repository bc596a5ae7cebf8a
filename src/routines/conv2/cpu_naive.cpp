// conv1, conv2, conv3 cpu/naive: the specification. Sums in double, integers in int64.
#include "core/base/element.h"
#include "routines/add_each.h"
#include "routines/conv2/geometry.h"

namespace softneuro {
namespace {

class NaiveConvKernel final : public Kernel {
 public:
  explicit NaiveConvKernel(const ConvGeometry& geometry) : g_(geometry) {}

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

  // Σ over the group's channels and the kernel; outside of x is zero.
  template <class Sum>
  Sum window_sum(Context& context, std::int64_t n, std::int64_t m, std::int64_t z, std::int64_t y,
                 std::int64_t x) const noexcept {
    const auto& [az, ay, ax] = g_.window.axes;
    Sum sum = 0;
    std::int64_t weight = m * g_.depth();
    for (std::int64_t c = 0; c < g_.in; ++c)
      for (std::int64_t kz = 0; kz < az.kernel; ++kz)
        for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
          for (std::int64_t kx = 0; kx < ax.kernel; ++kx, ++weight) {
            const std::int64_t iz = z * az.stride + kz * az.dilation - az.pad_begin;
            const std::int64_t iy = y * ay.stride + ky * ay.dilation - ay.pad_begin;
            const std::int64_t ix = x * ax.stride + kx * ax.dilation - ax.pad_begin;
            if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input || ix < 0 || ix >= ax.input)
              continue;
            const std::int64_t channel = n * g_.channels_in() + m / g_.out * g_.in + c;
            const std::int64_t at = ((channel * az.input + iz) * ay.input + iy) * ax.input + ix;
            sum = multiply_add(sum, load_as<Sum>(context.input(0), at),
                               load_as<Sum>(context.input(1), weight));
          }
    return sum;
  }

  ConvGeometry g_;
};

class NaiveConv final : public Routine {
 public:
  explicit NaiveConv(const char* layer_type) : Routine(layer_type, "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    return make_kernel<NaiveConvKernel>(geometry);
  }
};

}  // namespace

Status register_routine_conv2_cpu_naive(Registry& registry) {
  return add_each<NaiveConv>(registry, {"conv1", "conv2", "conv3"});
}

}  // namespace softneuro
