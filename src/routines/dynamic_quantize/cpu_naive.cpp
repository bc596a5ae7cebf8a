// dynamic_quantize cpu/naive: the specification. All in float32, in the order of the ONNX
// operator: the bits of scale and zero point decide ties.
#include "core/base/element.h"
#include "core/base/level.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_dynamic_quantize(const Problem&) {
  return make_function_kernel([](Context& context) {
    const float* x = context.input(0).as<float>();
    const std::int64_t count = context.input(0).elements();
    float low = 0, high = 0;  // the range includes 0, so that 0 is exact
    for (std::int64_t i = 0; i < count; ++i) {
      if (x[i] < low) low = x[i];
      if (x[i] > high) high = x[i];
    }
    const float scale = high > low ? (high - low) / 255.0f : 1.0f;
    const auto zero_point = from_double<std::uint8_t>(std::nearbyint(-low / scale));
    if (context.has_output(0)) {
      auto* y = context.output(0).as_mutable<std::uint8_t>();
      for (std::int64_t i = 0; i < count; ++i)
        y[i] = std::isnan(x[i]) ? std::uint8_t{0}
                                : static_cast<std::uint8_t>(level_of(
                                      x[i] / scale, levels_of<std::uint8_t>(), zero_point));
    }
    if (context.has_output(1)) *context.output(1).as_mutable<float>() = scale;
    if (context.has_output(2)) *context.output(2).as_mutable<std::uint8_t>() = zero_point;
  });
}

}  // namespace

Status register_routine_dynamic_quantize_cpu_naive(Registry& registry) {
  return add_naive(registry, {"dynamic_quantize"}, make_naive_dynamic_quantize);
}

}  // namespace softneuro
