// conv2 cpu:float32:nhwc/wg, cpu:float32:nchw16c/wg, cpu:float16:nhwc/wg and cpu:bfloat16:nhwc/wg:
// Winograd convolution of 3x3 and 5x5 kernels with stride 1, in float32 whatever the tensors' type.
// Blocks of tiles are transformed, multiplied and transformed back while they are in the cache; see
// core/layers/winograd_matrices.h for the arithmetic and its errors, which grow with tile_size:
// relative to the largest output about 1e-6 (4), 1e-5 (6), 2e-5 (8).
//
// Routine parameters:
//   tile_size  4, 6, 8   inputs per side of a tile (3x3: F(2x2), F(4x4), F(6x6))
//   block      tiles that are worked on at a time
//   work       apart: each thread has its own blocks, whose transformed data stay in its cache.
//              together: all threads share one block, so that each transformed weight is read
//              once per block; for few tiles with many channels.
//              panels: all threads share one block, each takes 32 outputs at a time and transforms
//              their weights itself. Transformed weights are 16/9 (tile 4) to 64/9 (tile 8) times
//              as large as the weights: where those do not fit a cache, transforming is faster than
//              reading, and memory is saved.
#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/add_each.h"
#include "routines/conv2/geometry.h"
#include "routines/conv2/winograd.h"
#include "routines/conv2/winograd_kernel.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

constexpr std::int64_t kTileSizes[] = {4, 6, 8};
// Larger tiles round more coarsely, and are hardly ever faster: only tuning takes them.
constexpr std::int64_t kMostUntuned = 6;
constexpr std::int64_t kBlockSizes[] = {14, 28, 56, 112};
constexpr const char* kApart = "apart";
constexpr const char* kTogether = "together";
constexpr const char* kPanels = "panels";

// Floats of transformed input that a private block may take, so that they stay in a level-2 cache
// of 1 MiB beside the weights that stream by: by default, and at all.
constexpr std::int64_t kPrivateFloats = 72 * 1024, kMostPrivateFloats = 2 * kPrivateFloats;
// Weights of fewer kernels are in the cache anyway, transformed or not.
constexpr std::int64_t kPanelWeights = 128 * 128;
// Maps of up to this size are small: tiles of 4 save less there, but stick out less, than of 8.
constexpr std::int64_t kSmallMap = 16;

// Which parameters may pay for one problem: few enough to be measured one by one.
class WgBlocking {
 public:
  explicit WgBlocking(const Problem& problem)
      : taps_(problem.inputs[kWeights].shape[2]),
        in_(problem.inputs[kWeights].shape[1]),
        out_(problem.inputs[kWeights].shape[0]),
        y_(problem.outputs[0].shape) {}

  std::int64_t tiles(std::int64_t tile) const {
    const std::int64_t m = tile + 1 - taps_;
    return y_[0] * chunks_of(y_[2], m) * chunks_of(y_[3], m);
  }
  bool may_pay(std::int64_t tile) const {
    if (!has_wg(tile, taps_)) return false;
    const bool small = std::max(y_[2], y_[3]) <= kSmallMap;
    return taps_ != 3 || tile == 6 || (tile == 4) == small;
  }
  bool may_pay(const Params& params) const {
    const std::int64_t tile = params.integer("tile_size"), block = params.integer("block");
    if (!may_pay(tile)) return false;
    // Of the blocks that hold all tiles, the smallest says it all.
    if (block != kSmallest && tiles(tile) <= smaller(block)) return false;
    const bool all = tiles(tile) <= block;
    if (params.text("work") == kApart)
      return block == kSmallest || (block == kApartMost && fits(tile, block, kMostPrivateFloats));
    if (params.text("work") == kTogether)
      return (block == kSmallest && tile == 6) || block == kTogetherMost ||
             (all && block < kTogetherMost);
    return (all || block == kLargest) && in_ * out_ >= kPanelWeights;
  }

  // Blocks as large as the cache holds; where that would be too few tiles for the weights that have
  // to be read for each block, work is shared.
  RoutineParams default_params(std::int64_t tile) const {
    const char* work = kApart;
    std::int64_t block = kSmallest;
    if (fits(tile, kSmallest, kPrivateFloats)) {
      if (tiles(tile) > kSmallest && fits(tile, kApartMost, kPrivateFloats)) block = kApartMost;
    } else {
      work = in_ * out_ >= kPanelWeights ? kPanels : kTogether;
      const std::int64_t most = work == kPanels ? kLargest : kTogetherMost;
      while (block < most && block < tiles(tile)) block = larger(block);
    }
    RoutineParams params;
    params.set("tile_size", tile);
    params.set("block", block);
    params.set("work", std::string(work));
    return params;
  }

 private:
  static constexpr std::int64_t kSmallest = kBlockSizes[0], kApartMost = kBlockSizes[1],
                                kTogetherMost = kBlockSizes[2],
                                kLargest = kBlockSizes[std::size(kBlockSizes) - 1];

  bool fits(std::int64_t tile, std::int64_t block, std::int64_t floats) const {
    return tile * tile * chunks_of(in_, kWgBlock) * kWgBlock * block <= floats;
  }
  static std::int64_t smaller(std::int64_t block) {
    std::int64_t found = 0;
    for (const std::int64_t size : kBlockSizes)
      if (size < block) found = size;
    return found;
  }
  static std::int64_t larger(std::int64_t block) {
    for (const std::int64_t size : kBlockSizes)
      if (size > block) return size;
    return block;
  }

  std::int64_t taps_, in_, out_;
  Shape y_;
};

WgWeights weights_of(const Problem& problem, const RoutineParams& params, const float* data) {
  const Shape& w = problem.inputs[kWeights].shape;
  return {data, w[0], w[1], static_cast<int>(params.integer("tile_size")), static_cast<int>(w[2])};
}

// Floats of the packed weights, and of the bias behind them.
struct PackedSizes {
  PackedSizes(const Problem& problem, const RoutineParams& params) {
    const Shape& w = problem.inputs[kWeights].shape;
    const WgWeights shape = weights_of(problem, params, nullptr);
    const std::int64_t points =
        params.text("work") == kPanels ? w[2] * w[3] : std::int64_t{shape.tile} * shape.tile;
    weights = points * shape.point_floats();
    if (problem.has_input(kBias)) bias = chunks_of(w[0], kWgBlock) * kWgBlock;
  }
  std::int64_t weights = 0, bias = 0;
};

class WgImplementation final : public Implementation {
 public:
  WgImplementation(ProblemPtr problem, const RoutineContext& context)
      : Implementation(std::move(problem), context), blocking_(this->problem()) {}

  // Half of what the arithmetic saves on average; the rest goes into transforming.
  double speed() const override { return 2; }

  RoutineParams default_params() const override {
    // Larger tiles save more products, unless they stick out too far.
    std::int64_t best = 0;
    double least = 0;
    for (const std::int64_t tile : kTileSizes) {
      if (tile > kMostUntuned) break;
      if (!blocking_.may_pay(tile)) continue;  // before tiles are counted: they may give no output
      const double cost = static_cast<double>(blocking_.tiles(tile) * tile * tile);
      if (best != 0 && cost >= 0.8 * least) continue;
      best = tile;
      least = cost;
    }
    return blocking_.default_params(best);
  }

  ParamSpace param_space() const override {
    ParamSpace space;
    ParamAxis tile_size{"tile_size", {}}, block{"block", {}};
    for (const std::int64_t tile : kTileSizes) tile_size.values.emplace_back(tile);
    for (const std::int64_t size : kBlockSizes) block.values.emplace_back(size);
    space.axes = {std::move(tile_size),
                  std::move(block),
                  {"work", {std::string(kApart), std::string(kTogether), std::string(kPanels)}}};
    space.allows = [blocking = blocking_](const Params& params) {
      return blocking.may_pay(params);
    };
    return space;
  }

  Result<Packing> packing(const RoutineParams& params) const override {
    const PackedSizes sizes(problem(), params);
    return Packing{static_cast<std::size_t>(sizes.weights + sizes.bias) * sizeof(float),
                   params.text("work") == kPanels
                       ? kPanels
                       : "tile_size=" + std::to_string(params.integer("tile_size"))};
  }
  Status pack(const RoutineParams& params, Allocator& scratch, std::byte* packed) const override {
    const PackedSizes sizes(problem(), params);
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem().inputs[kWeights].value, scratch));
    const WgWeights weights =
        weights_of(problem(), params, static_cast<const float*>(floats.data()));
    auto* const to = reinterpret_cast<float*>(packed);
    (params.text("work") == kPanels ? pack_wg_panels : pack_wg_weights)(weights, to);
    if (sizes.bias == 0) return {};
    SN_ASSIGN_OR_RETURN(const Tensor bias, as_float32(problem().inputs[kBias].value, scratch));
    std::fill_n(to + sizes.weights, sizes.bias, 0.0f);
    std::copy_n(static_cast<const float*>(bias.data()), bias.shape()[0], to + sizes.weights);
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    WgChoice choice;
    choice.tile = static_cast<int>(params.integer("tile_size"));
    choice.block = params.integer("block");
    choice.work = params.text("work") == kApart      ? WgWork::apart
                  : params.text("work") == kTogether ? WgWork::together
                                                     : WgWork::panels;
    return make_wg_kernel(problem(), context().threads(), choice, packed.bytes);
  }

 private:
  WgBlocking blocking_;
};

class WgConv final : public Routine {
 public:
  explicit WgConv(const char* descriptor) : Routine("conv2", descriptor) {}
  // Above the direct product in every layout: it was never slower, with default parameters, on the
  // 3x3 layers of 12 nets (7x7 to 224x224, 16 to 512 channels: 1.0 to 5 times as fast).
  RoutineFacts facts() const override { return {.default_rank = 35}; }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return wg_takes_post_ops(problem);
  }

  Applicability applicable(const Problem& problem) const override {
    for (const std::size_t i : {kX, kWeights, kBias})
      if (problem.has_input(i) && !takes(problem.inputs[i]))
        return Applicability::no(
            fmt::format("needs {} tensors, and constants of 16 or 32 bit floats",
                        to_string(descriptor().type)));
    if (problem.outputs[0].type != descriptor().type)
      return Applicability::no(fmt::format("needs {} tensors", to_string(descriptor().type)));
    if (!is_known(problem.inputs[kWeights]) ||
        (problem.has_input(kBias) && !is_known(problem.inputs[kBias])))
      return Applicability::no("weights and bias must be constant: they are transformed once");
    const Result<ConvGeometry> g = conv_geometry(problem);
    if (!g.ok()) return Applicability::no(std::string(g.status().message()));
    const WindowAxis &y = g->window.axes[1], &x = g->window.axes[2];
    if (y.kernel != x.kernel || (x.kernel != 3 && x.kernel != 5))
      return Applicability::no("needs a kernel of 3x3 or 5x5");
    if (y.stride != 1 || x.stride != 1) return Applicability::no("needs stride 1");
    if (y.dilation != 1 || x.dilation != 1) return Applicability::no("needs dilation 1");
    if (g->group != 1) return Applicability::no("needs one group");
    if (g->in == 0) return Applicability::no("needs input channels");
    return Applicability::yes();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<WgImplementation>(std::move(problem), context);
  }

 private:
  static bool is_known(const TensorSpec& spec) { return spec.constant && !spec.value.empty(); }
  bool takes(const TensorSpec& spec) const {
    return spec.type == descriptor().type || (spec.constant && is_span_float(spec.type));
  }
};

}  // namespace

Status register_routine_conv2_cpu_wg(Registry& registry) {
  return add_each<WgConv>(registry, {"cpu:float32:nhwc/wg", "cpu:float32:nchw16c/wg",
                                     "cpu:float16:nhwc/wg", "cpu:bfloat16:nhwc/wg"});
}

}  // namespace softneuro
