// max_pool1, max_pool2, max_pool3 cpu/naive: the specification.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

class NaiveMaxPoolKernel final : public Kernel {
 public:
  NaiveMaxPoolKernel(const Window& window, std::int64_t planes, bool column_major)
      : window_(window), planes_(planes), column_major_(column_major) {}

  Status run(Context& context) const noexcept override {
    const auto& [az, ay, ax] = window_.axes;
    std::int64_t index = 0;
    for (std::int64_t p = 0; p < planes_; ++p)
      for (std::int64_t z = 0; z < az.output; ++z)
        for (std::int64_t y = 0; y < ay.output; ++y)
          for (std::int64_t x = 0; x < ax.output && !context.pool().cancelled(); ++x) {
            if (is_float(context.input(0).type))
              pool<double>(context, p, z, y, x, index++);
            else
              pool<std::int64_t>(context, p, z, y, x, index++);
          }
    return {};
  }

 private:
  // The first largest element; NaN is larger than everything.
  template <class Value>
  void pool(Context& context, std::int64_t p, std::int64_t z, std::int64_t y, std::int64_t x,
            std::int64_t to) const noexcept {
    const auto& [az, ay, ax] = window_.axes;
    const bool is_unsigned = context.input(0).type == DataType::uint64;
    Value best = 0;
    std::int64_t best_at = -1;
    for (std::int64_t kz = 0; kz < az.kernel; ++kz)
      for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
        for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
          const std::int64_t iz = z * az.stride + kz * az.dilation - az.pad_begin;
          const std::int64_t iy = y * ay.stride + ky * ay.dilation - ay.pad_begin;
          const std::int64_t ix = x * ax.stride + kx * ax.dilation - ax.pad_begin;
          if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input || ix < 0 || ix >= ax.input)
            continue;
          const std::int64_t at = ((p * az.input + iz) * ay.input + iy) * ax.input + ix;
          const Value value = load_as<Value>(context.input(0), at);
          const bool larger =
              is_unsigned ? static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(best)
                          : value > best || (value != value && best == best);
          if (best_at < 0 || larger) {
            best = value;
            best_at = column_major_ ? ((p * ax.input + ix) * ay.input + iy) * az.input + iz : at;
          }
        }
    // A window of padding only has no largest element: the type's smallest stands for it.
    if (best_at < 0)
      store(context.output(0), to, -INFINITY);
    else
      store_as(context.output(0), to, best);
    if (context.has_output(1)) store_integer(context.output(1), to, best_at);
  }

  Window window_;
  std::int64_t planes_;
  bool column_major_;
};

class NaiveMaxPool final : public Routine {
 public:
  explicit NaiveMaxPool(const char* layer_type) : Routine(layer_type, "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const Window window,
                        make_window(problem.params, x, problem.params.integers("kernel")));
    return make_kernel<NaiveMaxPoolKernel>(window, x.elements(0, 2),
                                           problem.params.integer("storage_order") != 0);
  }
};

}  // namespace

Status register_routine_max_pool2_cpu_naive(Registry& registry) {
  return add_each<NaiveMaxPool>(registry, {"max_pool1", "max_pool2", "max_pool3"});
}

}  // namespace softneuro
