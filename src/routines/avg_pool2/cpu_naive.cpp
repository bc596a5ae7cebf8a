// avg_pool1, avg_pool2, avg_pool3 cpu/naive: the specification. Means in double.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveAvgPoolKernel final : public Kernel {
 public:
  NaiveAvgPoolKernel(const Window& window, std::int64_t planes, bool count_padding)
      : window_(window), planes_(planes), count_padding_(count_padding) {}

  Status run(Context& context) const noexcept override {
    const auto& [az, ay, ax] = window_.axes;
    std::int64_t index = 0;
    for (std::int64_t p = 0; p < planes_; ++p)
      for (std::int64_t z = 0; z < az.output; ++z)
        for (std::int64_t y = 0; y < ay.output; ++y)
          for (std::int64_t x = 0; x < ax.output && !context.pool().cancelled(); ++x)
            store(context.output(0), index++, mean(context.input(0), p, z, y, x));
    return {};
  }

 private:
  static bool inside(const WindowAxis& axis, std::int64_t i) noexcept {
    return i >= 0 && i < axis.input;
  }
  // The input with its padding; a window in ceil_mode may reach beyond that.
  static bool inside_padded(const WindowAxis& axis, std::int64_t i) noexcept {
    return i >= -axis.pad_begin && i < axis.input + axis.pad_end;
  }

  double mean(const TensorView& input, std::int64_t p, std::int64_t z, std::int64_t y,
              std::int64_t x) const noexcept {
    const auto& [az, ay, ax] = window_.axes;
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t kz = 0; kz < az.kernel; ++kz)
      for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
        for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
          const std::int64_t iz = z * az.stride + kz * az.dilation - az.pad_begin;
          const std::int64_t iy = y * ay.stride + ky * ay.dilation - ay.pad_begin;
          const std::int64_t ix = x * ax.stride + kx * ax.dilation - ax.pad_begin;
          const bool real = inside(az, iz) && inside(ay, iy) && inside(ax, ix);
          if (real) sum += load(input, ((p * az.input + iz) * ay.input + iy) * ax.input + ix);
          if (real || (count_padding_ && inside_padded(az, iz) && inside_padded(ay, iy) &&
                       inside_padded(ax, ix)))
            ++count;
        }
    return count == 0 ? 0 : sum / static_cast<double>(count);
  }

  Window window_;
  std::int64_t planes_;
  bool count_padding_;
};

Result<std::unique_ptr<Kernel>> make_naive_avg_pool(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const Window window,
                      make_window(problem.params, x, problem.params.integers("kernel")));
  return make_kernel<NaiveAvgPoolKernel>(window, x.elements(0, 2),
                                         problem.params.integer("count_include_pad") != 0);
}

}  // namespace

Status register_routine_avg_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"avg_pool1", "avg_pool2", "avg_pool3"}, make_naive_avg_pool);
}

}  // namespace softneuro
