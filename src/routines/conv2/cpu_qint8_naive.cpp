// conv1, conv2, conv3 cpu:qint8/naive and cpu:qint8:nhwc/naive: the specification of quantised
// convolution, in integers; cpu/qint8/weights.h says what is computed.
#include "core/routine/registry.h"
#include "cpu/qint8/epilogue.h"
#include "cpu/qint8/requantize.h"
#include "cpu/tensor/element_place.h"
#include "routines/conv2/geometry.h"

namespace softneuro {
namespace {

class NaiveQuantizedConvKernel final : public Kernel {
 public:
  NaiveQuantizedConvKernel(const Problem& problem, const ConvGeometry& geometry,
                           QuantizedWeights weights, PostOpProgram post_ops)
      : g_(geometry),
        weights_(std::move(weights)),
        post_ops_(std::move(post_ops)),
        x_(tensor_scale(problem.inputs[0])) {
    if (problem.outputs[0].type == DataType::qint8)
      requantize_ = Requantize(tensor_scale(problem.outputs[0]));
  }

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(g_.batch * g_.channels_out() * g_.window.output_elements()) *
           sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    const TensorView& out = context.output(0);
    auto* results = reinterpret_cast<float*>(context.workspace());
    std::int64_t index = 0;
    for (std::int64_t n = 0; n < g_.batch; ++n)
      for (std::int64_t m = 0; m < g_.channels_out(); ++m)
        for (std::int64_t position = 0; position < g_.window.output_elements(); ++position) {
          const auto i = static_cast<std::size_t>(m);
          const auto sum = static_cast<float>(window_sum(context.input(0), n, m, position));
          results[element_place(index++, out.shape, out.layout)] =
              std::fma(sum, x_.scale * weights_.scales[i], weights_.bias[i]);
        }
    post_ops_.apply(context.inputs(), results, 0, index);
    for (std::int64_t i = 0; i < index; ++i) {
      if (out.type == DataType::qint8)
        out.as_mutable<std::uint8_t>()[i] = requantize_(results[i]);
      else
        out.as_mutable<float>()[i] = results[i];
    }
    return {};
  }

 private:
  // Σ (x − zero point) · w over the group's channels and the kernel; outside of x is the zero
  // point, which adds nothing.
  std::int32_t window_sum(const TensorView& in, std::int64_t n, std::int64_t m,
                          std::int64_t position) const noexcept {
    std::int32_t sum = 0;
    for (std::int64_t c = 0; c < g_.in; ++c) {
      const std::int64_t channel = n * g_.channels_in() + m / g_.out * g_.in + c;
      const std::int64_t x = channel * g_.window.input_elements();
      const std::int64_t w = (m * g_.in + c) * g_.window.kernel_elements();
      for_taps(g_.window, position, [&](std::int64_t tap, std::int64_t at) {
        if (at < 0) return;
        const std::int64_t place = element_place(x + at, in.shape, in.layout);
        const std::int32_t q =
            x_.is_signed ? in.as<std::int8_t>()[place] : in.as<std::uint8_t>()[place];
        sum += (q - x_.zero_point) * weights_.values[static_cast<std::size_t>(w + tap)];
      });
    }
    return sum;
  }

  ConvGeometry g_;
  QuantizedWeights weights_;
  PostOpProgram post_ops_;
  TensorScale x_;
  Requantize requantize_;
};

class NaiveQuantizedConv final : public QuantizedRoutine<SimpleRoutine> {
 public:
  using QuantizedRoutine::QuantizedRoutine;

  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(QuantizedWeights weights, quantize_weights(problem));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<NaiveQuantizedConvKernel>(problem, geometry, std::move(weights),
                                                 std::move(post_ops));
  }
};

}  // namespace

Status register_routine_conv2_cpu_qint8_naive(Registry& registry) {
  for (const char* type : {"conv1", "conv2", "conv3"})
    for (const char* descriptor : {"cpu:qint8/naive", "cpu:qint8:nhwc/naive"})
      SN_RETURN_IF_ERROR(registry.add(std::make_unique<NaiveQuantizedConv>(type, descriptor)));
  return {};
}

}  // namespace softneuro
