#include "routines/conv2/narrow_groups.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/isa_variants.h"
#include "core/routine/registry.h"
#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"
#include "routines/conv2/geometry.h"
#include "routines/typed_constants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(GroupConvOps, kGroupConvOps, group_conv_ops)

namespace {

enum Input : std::size_t { kX, kWeights, kBias };

constexpr std::int64_t kDefaultTaskOps = 1 << 18;

// For each position of the kernel and each input channel of the group, kGroupPanel weights.
std::int64_t panel_bytes(std::int64_t group, std::int64_t rows, std::int64_t columns) noexcept {
  return rows * columns * group * kGroupPanel * static_cast<std::int64_t>(sizeof(float));
}
void pack_panel(const float* from, std::int64_t group, std::int64_t rows, std::int64_t columns,
                void* bytes) noexcept {
  const std::int64_t taps = rows * columns;
  auto* to = static_cast<float*>(bytes);
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t m = 0; m < group; ++m)
      for (std::int64_t lane = 0; lane < kGroupPanel; ++lane)
        *to++ = from[(lane * group + m) * taps + t];
}
void pack_bias(const float* from, float* to) noexcept {
  std::copy_n(from, kGroupPanel, to);
}

class NarrowGroupKernel final : public FloatWorkspaceKernel {
 public:
  NarrowGroupKernel(const ConvGeometry& geometry, const GroupConvCode& code, DataType type,
                    const RoutineParams& params, int threads, PackedWeights packed,
                    TypedConstants constants, EpiloguePostOps post_ops)
      : g_(geometry),
        code_(code),
        type_(type),
        packed_(std::move(packed.bytes)),
        constants_(std::move(constants)),
        post_ops_(std::move(post_ops)) {
    const std::int64_t panels = chunks_of(g_.channels_in(), code_.panel);
    const std::int64_t channels = params.integer("channels", 0);
    together_ = channels == 0 ? panels : chunks_of(channels, code_.panel);
    const std::int64_t row_ops = g_.window.axes[2].output * g_.channels_in() * g_.depth();
    const std::int64_t task_ops =
        task_operations(g_.batch * g_.window.axes[1].output * row_ops,
                        params.integer("task_ops", kDefaultTaskOps), threads);
    rows_ = std::max<std::int64_t>(task_ops / std::max<std::int64_t>(row_ops, 1), 1);
    zeros_at_ = reserve(g_.channels_in());
    if (g_.bias) bias_at_ = reserve(panels * code_.panel);
    if (keeps_floats())
      floats_at_ = reserve(g_.batch * g_.window.output_elements() * g_.channels_out());
  }

  Status run(Context& context) const noexcept override {
    float* const workspace = workspace_of(context);
    std::fill_n(workspace + zeros_at_, g_.channels_in(), 0.0f);
    if (g_.bias)
      for (std::int64_t p = 0; p < chunks_of(g_.channels_in(), code_.panel); ++p)
        code_.pack_bias(constants_.input(context, kBias).as<float>() +
                            panel_channel(p, g_.channels_in(), code_.panel),
                        workspace + bias_at_ + p * code_.panel);
    const std::int64_t height = g_.window.axes[1].output;
    const std::int64_t chunks = (height + rows_ - 1) / rows_;
    parallel_for(context.pool(), g_.batch * chunks, [&](std::int64_t i) {
      const std::int64_t first = height * (i % chunks) / chunks;
      run_rows(context, i / chunks, first, height * (i % chunks + 1) / chunks);
    });
    return {};
  }

 private:
  // Results before the last post-ops, where rounding comes after these.
  bool keeps_floats() const noexcept {
    return type_ != DataType::float32 && !post_ops_.rest().empty();
  }

  void run_rows(Context& context, std::int64_t image, std::int64_t first,
                std::int64_t last) const noexcept {
    float* const workspace = workspace_of(context);
    const std::int64_t channels = g_.channels_in();
    const std::int64_t row_elements = g_.window.axes[2].output * channels;
    const std::int64_t offset = (image * g_.window.axes[1].output + first) * row_elements;
    const std::int64_t size = static_cast<std::int64_t>(size_of(type_));
    auto* const output = static_cast<std::byte*>(context.output(0).data) + offset * size;
    float* const floats = keeps_floats() ? workspace + floats_at_ + offset : nullptr;
    GroupConvRow task;
    task.y = g_.window.axes[1];
    task.x = g_.window.axes[2];
    task.channels = channels;
    task.group = g_.in;
    task.input = static_cast<const std::byte*>(context.input(kX).data) +
                 image * g_.window.input_elements() * channels * size;
    task.zeros = workspace + zeros_at_;
    task.weights = packed_.data();
    task.bias = g_.bias ? workspace + bias_at_ : nullptr;
    task.low = post_ops_.low();
    task.high = post_ops_.high();
    const std::int64_t panels = chunks_of(channels, code_.panel);
    for (std::int64_t p = 0; p < panels; p += together_) {
      task.first_panel = p;
      task.last_panel = std::min(p + together_, panels);
      for (task.row = first; task.row < last; ++task.row) {
        const std::int64_t at = (task.row - first) * row_elements;
        task.output = output + at * size;
        task.floats = floats == nullptr ? nullptr : floats + at;
        code_.row(task);
      }
    }
    if (post_ops_.rest().empty()) return;
    float* const results = floats != nullptr ? floats : reinterpret_cast<float*>(output);
    const std::int64_t count = (last - first) * row_elements;
    post_ops_.rest().apply(context.inputs(), results, offset, count);
    if (floats != nullptr) float_spans().store(type_, results, output, count);
  }

  ConvGeometry g_;
  GroupConvCode code_;
  DataType type_;  // of x and y
  Tensor packed_;
  TypedConstants constants_;  // in float32
  EpiloguePostOps post_ops_;
  std::int64_t together_ = 1;  // panels
  std::int64_t rows_ = 1;      // of a task
  std::int64_t zeros_at_ = 0, bias_at_ = 0, floats_at_ = 0;
};

class NarrowGroupImplementation final : public Implementation {
 public:
  NarrowGroupImplementation(ProblemPtr problem, const RoutineContext& context,
                            const ConvGeometry& geometry, const GroupConvCode& code)
      : Implementation(std::move(problem), context), geometry_(geometry), code_(code) {}

  // Each weight serves one pixel per load: 0.3 (depthwise) to 0.6 of a product's multiply-adds.
  double speed() const override { return 0.4; }

  RoutineParams default_params() const override {
    RoutineParams params;
    params.set("channels", std::int64_t{0});
    params.set("task_ops", kDefaultTaskOps);
    return params;
  }
  ParamSpace param_space() const override {
    ParamAxis channels{"channels", {std::int64_t{0}}};
    for (const std::int64_t block : {64, 128})
      if (block < problem().outputs[0].shape[1]) channels.values.emplace_back(block);
    ParamSpace space;
    space.axes = {std::move(channels), {"task_ops", {kDefaultTaskOps, 4 * kDefaultTaskOps}}};
    // As with products, the others were the fastest by noise only.
    space.promising = [](const Params& params) {
      return params.integer("task_ops", 0) == kDefaultTaskOps &&
             params.integer("channels", 0) < 128;
    };
    return space;
  }

  Result<Packing> packing(const RoutineParams&) const override {
    const std::int64_t bytes = chunks_of(weights().shape[0], code_.panel) * panel_bytes();
    return Packing{static_cast<std::size_t>(bytes), {}};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(weights().value, scratch));
    const Shape& shape = weights().shape;
    const std::int64_t channels = shape[0], of_channel = shape.elements(1, shape.rank());
    for (std::int64_t p = 0; p < chunks_of(channels, code_.panel); ++p)
      code_.pack(static_cast<const float*>(floats.data()) +
                     panel_channel(p, channels, code_.panel) * of_channel,
                 shape[1], rows(), columns(), packed + p * panel_bytes());
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(TypedConstants constants,
                        TypedConstants::create(problem(), DataType::float32));
    SN_ASSIGN_OR_RETURN(EpiloguePostOps post_ops, EpiloguePostOps::create(problem(), false));
    return make_kernel<NarrowGroupKernel>(geometry_, code_, problem().inputs[kX].type, params,
                                          context().threads(), packed, std::move(constants),
                                          std::move(post_ops));
  }

 private:
  // [channels, group, rows, columns] or one dimension less.
  const TensorSpec& weights() const { return problem().inputs[kWeights]; }
  std::int64_t rows() const { return weights().shape.elements(2, weights().shape.rank() - 1); }
  std::int64_t columns() const { return weights().shape[weights().shape.rank() - 1]; }
  std::int64_t panel_bytes() const {
    return code_.panel_bytes(weights().shape[1], rows(), columns());
  }

  ConvGeometry geometry_;
  GroupConvCode code_;
};

class NarrowGroupConv final : public Routine {
 public:
  NarrowGroupConv(std::string_view layer_type, DataType type, bool depthwise,
                  const GroupConvCode& code)
      : Routine(layer_type, fmt::format("cpu:{}:nhwc/{}", to_string(type), code.algorithm)),
        type_(type),
        depthwise_(depthwise),
        code_(code) {}
  RoutineFacts facts() const override { return {.default_rank = 40, .needs = code_.needs}; }

 protected:
  Applicability applicable(const Problem& problem) const override {
    const TensorSpec& weights = problem.inputs[kWeights];
    if (problem.inputs[kX].type != type_)
      return Applicability::no(fmt::format("needs {}", to_string(type_)));
    if (!weights.constant || weights.value.empty())
      return Applicability::no("the weights are not constant");
    if (!is_span_float(weights.type))
      return Applicability::no(
          fmt::format("weights of {} are not supported", to_string(weights.type)));
    if (problem.has_input(kBias) && !becomes_float32(problem.inputs[kBias]))
      return Applicability::no("needs a bias of float32, or a constant one");
    const std::int64_t group = weights.shape[1];  // channels
    if (weights.shape[0] != problem.params.integer("group", 1) * group)
      return Applicability::no("needs as many outputs as inputs per group");
    if (depthwise_ != (group == 1))
      return Applicability::no(depthwise_ ? "needs one channel per group (depthwise)"
                                          : "depthwise convolutions are not supported");
    if (kGroupPanel % group != 0)
      return Applicability::no(
          fmt::format("groups of {} channels are not supported, only of 2, 4, 8 or 16", group));
    if (weights.shape[0] < code_.panel)
      return Applicability::no(fmt::format("needs at least {} channels", code_.panel));
    const Result<ConvGeometry> geometry = conv_geometry(problem);
    if (!geometry.ok()) return Applicability::no(geometry.status().message());
    if (!group_tables_fit(geometry->window.axes[1], geometry->window.axes[2]))
      return Applicability::no("the kernel is too large");
    if (code_.takes != nullptr && !code_.takes(geometry->window.axes[1], geometry->window.axes[2]))
      return Applicability::no("the kernel's width, stride or dilation is not supported");
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return type_ == DataType::float32 ? PostOpProgram::supports(problem).ok()
                                      : PostOpProgram::supports_in_float32(problem).ok();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(*problem));
    return make_implementation_of<NarrowGroupImplementation>(std::move(problem), context, geometry,
                                                             code_);
  }

 private:
  DataType type_;  // of x and y
  bool depthwise_;
  GroupConvCode code_;
};

}  // namespace

GroupConvCode group_conv_code(DataType type, bool depthwise) noexcept {
  GroupConvCode code;
  code.algorithm = depthwise ? "depthwise" : "grouped";
  code.row = group_conv_ops().row(type);
  code.panel_bytes = panel_bytes;
  code.pack = pack_panel;
  code.pack_bias = pack_bias;
  return code;
}

Status add_narrow_group_convs(Registry& registry, DataType type, bool depthwise,
                              const GroupConvCode& code) {
  if (code.row == nullptr) return {};
  for (const char* layer_type : {"conv1", "conv2"})
    SN_RETURN_IF_ERROR(
        registry.add(std::make_unique<NarrowGroupConv>(layer_type, type, depthwise, code)));
  return {};
}

}  // namespace softneuro
