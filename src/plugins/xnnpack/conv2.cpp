// conv2 cpu:float32:nhwc/xnnpack: XNNPACK's convolutions, depthwise ones among them, one thread per
// chunk of the work; `split` says in how many. Each session keeps weights of its own, because
// operators of this library bind addresses.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/partition/conv_chunks.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// Element i of y in nhwc, weights as pack() leaves them.
double element_of(const ConvShape& shape, const float* weights, const float* bias, const float* x,
                  std::int64_t i) {
  const WindowAxis &h = shape.rows, &w = shape.columns;
  const std::int64_t out = i % shape.out, pixel = i / shape.out;
  const std::int64_t column = pixel % w.output, row = pixel / w.output % h.output;
  const std::int64_t image = pixel / w.output / h.output;
  const std::int64_t channels = shape.in / shape.group;
  const std::int64_t first_in = out / (shape.out / shape.group) * channels;
  const float* weight = weights + out * h.kernel * w.kernel * channels;
  double sum = bias != nullptr ? bias[out] : 0;
  for (std::int64_t ky = 0; ky < h.kernel; ++ky)
    for (std::int64_t kx = 0; kx < w.kernel; ++kx, weight += channels) {
      const std::int64_t y_in = row * h.stride - h.pad_begin + ky * h.dilation;
      const std::int64_t x_in = column * w.stride - w.pad_begin + kx * w.dilation;
      if (y_in < 0 || y_in >= h.input || x_in < 0 || x_in >= w.input) continue;
      const float* from = x + ((image * h.input + y_in) * w.input + x_in) * shape.in + first_in;
      for (std::int64_t c = 0; c < channels; ++c)
        sum += static_cast<double>(from[c]) * static_cast<double>(weight[c]);
    }
  return sum;
}

OperatorChunk chunk_of(const ConvChunk& chunk, const float* weights, const float* bias) {
  OperatorChunk made;
  made.create = [=](xnn_operator_t* op) {
    const ConvShape& shape = chunk.shape;
    const WindowAxis &h = shape.rows, &w = shape.columns;
    return xnn_create_convolution2d_nhwc_f32(
        u32(h.pad_begin), u32(w.pad_end), u32(h.pad_end), u32(w.pad_begin), u32(h.kernel),
        u32(w.kernel), u32(h.stride), u32(w.stride), u32(h.dilation), u32(w.dilation),
        u32(shape.group), size(shape.in / shape.group), size(shape.out / shape.group),
        size(shape.in), size(shape.out), weights, bias, -kUnlimited, kUnlimited, 0, op);
  };
  made.element = [=](const float* x, const float*, std::int64_t i) {
    return element_of(chunk.shape, weights, bias, x, i);
  };
  made.setup = [=](xnn_operator_t op, const float* x, const float*, float* y) {
    const ConvShape& shape = chunk.shape;
    return xnn_setup_convolution2d_nhwc_f32(op, size(shape.batch), size(shape.rows.input),
                                            size(shape.columns.input), x, y, nullptr);
  };
  made.x_at = chunk.x_at;
  made.y_at = chunk.y_at;
  made.y_count = chunk.y_count;
  return made;
}

class Conv2Implementation final : public SplitImplementation {
 public:
  Conv2Implementation(ProblemPtr problem, const RoutineContext& context, const ConvShape& shape)
      : SplitImplementation(std::move(problem), context), shape_(shape) {}

  // [M, C/group, K…] → [M, K…, C/group].
  Result<Packing> packing(const RoutineParams&) const override {
    return Packing{packed_bytes(), {}};
  }
  Status pack(const RoutineParams&, Allocator&, std::byte* packed) const override {
    const Shape& w = problem().inputs[kWeights].shape;
    const auto* from = static_cast<const float*>(problem().inputs[kWeights].value.data());
    auto* to = reinterpret_cast<float*>(packed);
    const std::int64_t channels = w[1], positions = w.elements(2, w.rank());
    for (std::int64_t m = 0; m < w[0]; ++m)
      for (std::int64_t k = 0; k < positions; ++k)
        for (std::int64_t c = 0; c < channels; ++c)
          *to++ = from[(m * channels + c) * positions + k];
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    if (packed.bytes.bytes() != packed_bytes())
      return invalid_argument("packed weights have {} bytes, expected {}", packed.bytes.bytes(),
                              packed_bytes());
    OperatorWork work;
    SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem()));
    work.constants = {packed.bytes,
                      problem().has_input(kBias) ? problem().inputs[kBias].value : Tensor()};
    const auto* const weights = static_cast<const float*>(work.constants[0].data());
    const auto* const bias = static_cast<const float*>(work.constants[1].data());
    for (const ConvChunk& chunk : partition_conv(shape_, thread_parts(params, context().threads())))
      work.chunks.push_back(chunk_of(chunk, weights, bias));
    return make_operator_kernel(std::move(work));
  }

 private:
  std::size_t packed_bytes() const {
    return size(problem().inputs[kWeights].shape.elements()) * sizeof(float);
  }

  ConvShape shape_;
};

class Conv2 final : public OperatorRoutine {
 public:
  Conv2() : OperatorRoutine("conv2", "cpu:float32:nhwc/xnnpack") {}

 protected:
  Applicability applicable(const Problem& problem) const override {
    if (Applicability inputs = takes_inputs(problem); !inputs) return inputs;
    const auto shape = conv_shape(problem);
    if (!shape.ok()) return Applicability::no(shape.status().message());
    const auto swallows = [](const WindowAxis& axis) {
      return axis.pad_begin >= axis.extent() || axis.pad_end >= axis.extent();
    };
    if (swallows(shape->rows) || swallows(shape->columns))
      return Applicability::no("windows that lie in the padding as a whole are not supported");
    return Applicability::yes();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(*problem));
    return make_implementation_of<Conv2Implementation>(std::move(problem), context, shape);
  }
};

}  // namespace

Status register_conv2(Registry& registry) {
  return registry.add(std::make_unique<Conv2>());
}

}  // namespace softneuro::xnnpack
