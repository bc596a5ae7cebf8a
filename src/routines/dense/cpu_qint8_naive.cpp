// dense cpu:qint8/naive: the specification of the quantised matrix product, in integers;
// cpu/qint8/weights.h says what is computed.
#include "core/routine/registry.h"
#include "cpu/qint8/epilogue.h"
#include "cpu/qint8/requantize.h"

namespace softneuro {
namespace {

class NaiveQuantizedDenseKernel final : public Kernel {
 public:
  NaiveQuantizedDenseKernel(const Problem& problem, QuantizedWeights weights,
                            PostOpProgram post_ops)
      : weights_(std::move(weights)),
        post_ops_(std::move(post_ops)),
        x_(tensor_scale(problem.inputs[0])),
        elements_(problem.outputs[0].shape.elements()) {
    if (problem.outputs[0].type == DataType::qint8)
      requantize_ = Requantize(tensor_scale(problem.outputs[0]));
  }

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(elements_) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    const TensorView& in = context.input(0);
    const TensorView& out = context.output(0);
    auto* results = reinterpret_cast<float*>(context.workspace());
    for (std::int64_t i = 0; i < elements_; ++i) {
      const std::int64_t row = i / weights_.outputs;
      const auto m = static_cast<std::size_t>(i % weights_.outputs);
      const std::int8_t* w = weights_.values.data() + static_cast<std::int64_t>(m) * weights_.depth;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < weights_.depth; ++k) {
        const std::int64_t at = row * weights_.depth + k;
        const std::int32_t q = x_.is_signed ? in.as<std::int8_t>()[at] : in.as<std::uint8_t>()[at];
        sum += (q - x_.zero_point) * w[k];
      }
      results[i] =
          std::fma(static_cast<float>(sum), x_.scale * weights_.scales[m], weights_.bias[m]);
    }
    post_ops_.apply(context.inputs(), results, 0, elements_);
    for (std::int64_t i = 0; i < elements_; ++i) {
      if (out.type == DataType::qint8)
        out.as_mutable<std::uint8_t>()[i] = requantize_(results[i]);
      else
        out.as_mutable<float>()[i] = results[i];
    }
    return {};
  }

 private:
  QuantizedWeights weights_;
  PostOpProgram post_ops_;
  TensorScale x_;
  Requantize requantize_;
  std::int64_t elements_;
};

class NaiveQuantizedDense final : public QuantizedRoutine<SimpleRoutine> {
 public:
  NaiveQuantizedDense() : QuantizedRoutine("dense", "cpu:qint8/naive") {}

  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    SN_ASSIGN_OR_RETURN(QuantizedWeights weights, quantize_weights(problem));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<NaiveQuantizedDenseKernel>(problem, std::move(weights), std::move(post_ops));
  }
};

}  // namespace

Status register_routine_dense_cpu_qint8_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveQuantizedDense>());
}

}  // namespace softneuro
