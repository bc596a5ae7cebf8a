// wgenc cpu:float32:nhwc/direct: the transforms of conv2's Winograd kernel, 16 channels at a time.
#include <vector>

#include "core/layers/winograd_matrices.h"
#include "routines/wgenc/direct_transform.h"

namespace softneuro {
namespace {

class DirectWgencKernel final : public Kernel {
 public:
  DirectWgencKernel(const Problem& problem, std::int64_t group)
      : tile_(static_cast<int>(problem.params.integer("tile_size"))),
        x_(problem.inputs[0].shape),
        v_(problem.outputs[0].shape),
        group_(group),
        zeros_(static_cast<std::size_t>(x_[1])) {
    const auto pads = problem.params.integers("pads");
    const std::int64_t taps = problem.params.integer("taps");
    top_ = pads[0];
    left_ = pads[1];
    outputs_ = tile_ + 1 - taps;
    across_ = (x_[3] + pads[1] + pads[3] - taps + outputs_) / outputs_;
  }

  Status run(Context& context) const noexcept override {
    for_wg_tiles(context.pool(), v_[0], v_[3], group_,
                 [&](std::int64_t n, std::int64_t t) { encode(context, n, t); });
    return {};
  }

 private:
  void encode(Context& context, std::int64_t n, std::int64_t t) const noexcept {
    const std::int64_t channels = x_[1];
    const float* pixels[kMaxWinogradTile * kMaxWinogradTile];
    find_wg_pixels<float>({context.input(0).as<float>() + n * x_[2] * x_[3] * channels, x_[2],
                           x_[3], channels, zeros_.data()},
                          tile_, t / across_ * outputs_ - top_, t % across_ * outputs_ - left_,
                          pixels);
    WgEncode<float> task = {};
    task.pixels = pixels;
    task.input_block_stride = kWgBlock;
    task.blocks = channels / kWgBlock;
    task.last_channels = kWgBlock;
    task.to = context.output(0).as_mutable<float>() + (n * v_[2] * v_[3] + t) * channels;
    task.point_stride = v_[3] * channels;
    task.block_stride = kWgBlock;
    ops_.float32.encode(tile_, task);
  }

  int tile_;
  Shape x_, v_;
  std::int64_t group_;
  std::vector<float> zeros_;  // a pixel outside of the image
  std::int64_t top_ = 0, left_ = 0, outputs_ = 1, across_ = 1;
  const WgOps& ops_ = wg_ops();
};

class WgencImplementation final : public TransformImplementation {
 public:
  using TransformImplementation::TransformImplementation;

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    return make_kernel<DirectWgencKernel>(problem(), params.integer("tiles"));
  }
};

class DirectWgenc final : public DirectTransform {
 public:
  DirectWgenc() : DirectTransform("wgenc") {}

 protected:
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<WgencImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_wgenc_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectWgenc>());
}

}  // namespace softneuro
