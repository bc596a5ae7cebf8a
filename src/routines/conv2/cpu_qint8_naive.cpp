// conv1, conv2, conv3 cpu:qint8/naive and cpu:qint8:nhwc/naive: the specification of quantised
// convolution, in integers; cpu/qint8/weights.h says what is computed.
#include "routines/conv2/geometry.h"
#include "routines/dense/naive_quantized.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_quantized_conv(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
  const std::int64_t positions = g.window.output_elements();
  return make_naive_quantized(
      problem, positions,
      [=](const QuantizedWeights& weights, const auto& level, std::int64_t i, std::int64_t m) {
        const std::int64_t n = i / positions / g.channels_out();
        std::int32_t sum = 0;
        for (std::int64_t c = 0; c < g.in; ++c) {
          const std::int64_t channel = n * g.channels_in() + m / g.out * g.in + c;
          const std::int64_t x = channel * g.window.input_elements();
          const std::int64_t w = (m * g.in + c) * g.window.kernel_elements();
          // Outside of x is the zero point, which adds nothing.
          for_taps(g.window, i % positions, [&](std::int64_t tap, std::int64_t at) {
            if (at >= 0) sum += level(x + at) * weights.values[static_cast<std::size_t>(w + tap)];
          });
        }
        return sum;
      });
}

}  // namespace

Status register_routine_conv2_cpu_qint8_naive(Registry& registry) {
  return add_routines(registry, {"conv1", "conv2", "conv3"}, {"cpu:qint8", "cpu:qint8:nhwc"},
                      "naive", naive_quantized(make_naive_quantized_conv));
}

}  // namespace softneuro
