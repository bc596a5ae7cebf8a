// avg_pool2 cpu:float32:nhwc/xnnpack, partitioned by images. (The library's largest element of a
// window may lose a NaN, so it is not used.)
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/partition/chunks.h"
#include "plugins/partition/pool_window.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

OperatorChunk chunk_of(const Window& window, std::int64_t channels, std::int64_t images) {
  const WindowAxis h = window.axes[1], w = window.axes[2];
  OperatorChunk chunk;
  chunk.create = [=](xnn_operator_t* op) {
    const std::size_t c = size(channels);
    return xnn_create_average_pooling2d_nhwc_f32(
        u32(h.pad_begin), u32(taken_pad_end(w)), u32(taken_pad_end(h)), u32(w.pad_begin),
        u32(h.kernel), u32(w.kernel), u32(h.stride), u32(w.stride), c, c, c, -kUnlimited,
        kUnlimited, 0, op);
  };
  // The sum: as infinite, or as little a number, as the mean.
  chunk.element = [=](const float* x, const float*, std::int64_t i) {
    const std::int64_t channel = i % channels, pixel = i / channels;
    const std::int64_t column = pixel % w.output, row = pixel / w.output % h.output;
    const float* image = x + pixel / w.output / h.output * h.input * w.input * channels;
    double sum = 0;
    for (std::int64_t ky = 0; ky < h.kernel; ++ky)
      for (std::int64_t kx = 0; kx < w.kernel; ++kx) {
        const std::int64_t y_in = row * h.stride - h.pad_begin + ky;
        const std::int64_t x_in = column * w.stride - w.pad_begin + kx;
        if (y_in < 0 || y_in >= h.input || x_in < 0 || x_in >= w.input) continue;
        sum += image[(y_in * w.input + x_in) * channels + channel];
      }
    return sum;
  };
  chunk.setup = [=](xnn_operator_t op, const float* x, const float*, float* y) {
    return xnn_setup_average_pooling2d_nhwc_f32(op, size(images), size(h.input), size(w.input), x,
                                                y, nullptr);
  };
  return chunk;
}

class AvgPool2Implementation final : public SplitImplementation {
 public:
  AvgPool2Implementation(ProblemPtr problem, const RoutineContext& context, const Window& window)
      : SplitImplementation(std::move(problem), context), window_(window) {}

  ParamSpace param_space() const override {
    ParamSpace space;
    space.axes = {{kSplit, {std::string(kSplitThreads)}}};
    return space;
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    OperatorWork work;
    SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem()));
    const Shape& x = problem().inputs[0].shape;
    for_chunks(x[0], thread_parts(params, context().threads()), 1,
               [&](std::int64_t first, std::int64_t last) {
                 OperatorChunk& chunk =
                     work.chunks.emplace_back(chunk_of(window_, x[1], last - first));
                 chunk.x_at = first * x[1] * window_.input_elements();
                 chunk.y_at = first * x[1] * window_.output_elements();
                 chunk.y_count = (last - first) * x[1] * window_.output_elements();
               });
    return make_operator_kernel(std::move(work));
  }

 private:
  Window window_;
};

class AvgPool2 final : public OperatorRoutine {
 public:
  AvgPool2() : OperatorRoutine("avg_pool2", "cpu:float32:nhwc/xnnpack") {}

 protected:
  Applicability applicable(const Problem& problem) const override {
    if (Applicability inputs = takes_inputs(problem); !inputs) return inputs;
    if (Applicability window = check_pool_window(problem); !window) return window;
    const auto window = pool_window(problem.params, problem.inputs[0].shape);
    if (window->kernel_elements() == 1)
      return Applicability::no("needs a window of more than one element");
    for (const WindowAxis& axis : {window->axes[1], window->axes[2]}) {
      if (axis.dilation != 1) return Applicability::no("needs dilation 1");
      const bool counts = problem.params.integer("count_include_pad") != 0;
      if (counts && (axis.pad_begin > 0 || taken_pad_end(axis) > 0))
        return Applicability::no("count_include_pad is not supported");
    }
    return Applicability::yes();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(const Window window,
                        pool_window(problem->params, problem->inputs[0].shape));
    return make_implementation_of<AvgPool2Implementation>(std::move(problem), context, window);
  }
};

}  // namespace

Status register_pool2(Registry& registry) {
  return registry.add(std::make_unique<AvgPool2>());
}

}  // namespace softneuro::xnnpack
