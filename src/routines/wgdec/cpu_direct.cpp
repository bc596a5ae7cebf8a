// wgdec cpu:float32:nhwc/direct: the transforms of conv2's Winograd kernel, 16 channels at a time.
// Post-ops follow while a tile is in the cache.
#include <algorithm>
#include <limits>

#include "cpu/post_ops/post_ops.h"
#include "routines/wgenc/direct_transform.h"

namespace softneuro {
namespace {

class DirectWgdecKernel final : public Kernel {
 public:
  DirectWgdecKernel(const Problem& problem, std::int64_t group, PostOpProgram post_ops)
      : tile_(static_cast<int>(problem.params.integer("tile_size"))),
        outputs_(tile_ + 1 - static_cast<int>(problem.params.integer("taps"))),
        m_(problem.inputs[0].shape),
        y_(problem.outputs[0].shape),
        group_(group),
        across_((y_[3] + outputs_ - 1) / outputs_),
        bias_(problem.has_input(1)),
        post_ops_(std::move(post_ops)) {}

  Status run(Context& context) const noexcept override {
    for_wg_tiles(context.pool(), m_[0], m_[3], group_,
                 [&](std::int64_t n, std::int64_t t) { decode(context, n, t); });
    return {};
  }

 private:
  void decode(Context& context, std::int64_t n, std::int64_t t) const noexcept {
    const std::int64_t channels = y_[1];
    const std::int64_t row = t / across_ * outputs_, column = t % across_ * outputs_;
    const std::int64_t at = ((n * y_[2] + row) * y_[3] + column) * channels;
    WgDecode<float> task = {};
    task.from = context.input(0).as<float>() + (n * m_[2] * m_[3] + t) * channels;
    task.point_stride = m_[3] * channels;
    task.block_stride = kWgBlock;
    task.blocks = channels / kWgBlock;
    task.last_channels = kWgBlock;
    task.pad_last = false;
    task.bias = bias_ ? context.input(1).as<float>() : nullptr;
    task.y = context.output(0).as_mutable<float>() + at;
    task.row_stride = y_[3] * channels;
    task.pixel_stride = channels;
    task.y_block_stride = kWgBlock;
    task.rows = std::min<std::int64_t>(outputs_, y_[2] - row);
    task.columns = std::min<std::int64_t>(outputs_, y_[3] - column);
    task.addend = nullptr;
    task.low = -std::numeric_limits<float>::infinity();
    task.high = std::numeric_limits<float>::infinity();
    ops_.float32.decode(tile_, outputs_, task);
    for (std::int64_t i = 0; i < task.rows; ++i)
      post_ops_.apply(context.inputs(), task.y + i * task.row_stride, at + i * task.row_stride,
                      task.columns * channels);
  }

  int tile_, outputs_;
  Shape m_, y_;
  std::int64_t group_, across_;
  bool bias_;
  PostOpProgram post_ops_;
  const WgOps& ops_ = wg_ops();
};

class WgdecImplementation final : public TransformImplementation {
 public:
  using TransformImplementation::TransformImplementation;

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem()));
    return make_kernel<DirectWgdecKernel>(problem(), params.integer("tiles"), std::move(post_ops));
  }
};

class DirectWgdec final : public DirectTransform {
 public:
  DirectWgdec() : DirectTransform("wgdec") {}

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<WgdecImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_wgdec_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectWgdec>());
}

}  // namespace softneuro
