// conv1, conv2 cpu/direct: depthwise convolution (one input channel per group) without any copies,
// row by row. Post-ops follow while the rows are in the cache.
#include <algorithm>

#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "routines/conv2/depthwise.h"
#include "routines/conv2/geometry.h"
#include "routines/typed_constants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(DepthwiseOps, kDepthwiseOps, depthwise_ops)

namespace {

constexpr std::int64_t kTaskOutputs = 4096;  // a task's rows make about that many elements

class DirectConvKernel final : public Kernel {
 public:
  DirectConvKernel(const ConvGeometry& geometry, TypedConstants constants, PostOpProgram post_ops)
      : g_(geometry), constants_(std::move(constants)), post_ops_(std::move(post_ops)) {}

  Status run(Context& context) const noexcept override {
    const WindowAxis& y = g_.window.axes[1];
    const WindowAxis& x = g_.window.axes[2];
    const std::int64_t planes = g_.batch * g_.channels_out();
    const std::int64_t rows =
        std::max<std::int64_t>(kTaskOutputs / std::max<std::int64_t>(x.output, 1), 1);
    const std::int64_t chunks = (y.output + rows - 1) / rows;
    // Small planes go several at a time.
    const std::int64_t together =
        std::max<std::int64_t>(kTaskOutputs / std::max<std::int64_t>(x.output * y.output, 1), 1);
    const std::int64_t units = planes * chunks;
    parallel_for(context.pool(), (units + together - 1) / together, [&](std::int64_t i) {
      for (std::int64_t u = i * together; u < std::min((i + 1) * together, units); ++u)
        run_rows(context, u / chunks, u % chunks * rows,
                 std::min((u % chunks + 1) * rows, y.output));
    });
    return {};
  }

 private:
  void run_rows(Context& context, std::int64_t plane, std::int64_t first,
                std::int64_t last) const noexcept {
    const std::int64_t m = plane % g_.channels_out(), n = plane / g_.channels_out();
    const std::int64_t outputs = g_.window.output_elements();
    DepthwiseRows task;
    task.y = g_.window.axes[1];
    task.x = g_.window.axes[2];
    task.input = constants_.input(context, 0).as<float>() +
                 (n * g_.channels_in() + m / g_.out) * g_.window.input_elements();
    task.weights = constants_.input(context, 1).as<float>() + m * g_.window.kernel_elements();
    task.bias = g_.bias ? constants_.input(context, 2).as<float>()[m] : 0.0f;
    task.output = context.output(0).as_mutable<float>() + plane * outputs;
    task.first = first;
    task.last = last;
    ops_.run(task);
    const std::int64_t begin = first * task.x.output;
    post_ops_.apply(context.inputs(), task.output + begin, plane * outputs + begin,
                    (last - first) * task.x.output);
  }

  ConvGeometry g_;
  TypedConstants constants_;
  PostOpProgram post_ops_;
  const DepthwiseOps& ops_ = depthwise_ops();
};

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  if (problem.inputs[1].shape[1] != 1)
    return Applicability::no("needs one input channel per group (depthwise)");
  return Applicability::yes();
}

// One row at a time, with borders: a tenth of a product's multiply-adds, and less on small maps.
double speed(const Problem&) {
  return 0.1;
}

Result<std::unique_ptr<Kernel>> make_direct_conv(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem, DataType::float32));
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<DirectConvKernel>(geometry, std::move(constants), std::move(post_ops));
}

}  // namespace

Status register_routine_conv2_cpu_direct(Registry& registry) {
  return add_routines(registry, {"conv1", "conv2"}, {"cpu"}, "direct",
                      {.facts = {.default_rank = 20},
                       .applicable = applicable,
                       .supports_post_ops = PostOpProgram::supports,
                       .speed = speed,
                       .create = make_direct_conv});
}

}  // namespace softneuro
