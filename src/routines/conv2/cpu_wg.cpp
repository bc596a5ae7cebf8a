// conv2 cpu:float32:nhwc/wg and cpu:float32:nchw16c/wg: Winograd convolution of 3x3 and 5x5 kernels
// with stride 1. Blocks of tiles are transformed, multiplied and transformed back while they are in
// the cache; see core/winograd.h for the arithmetic and its errors, which grow with tile_size:
// relative to the largest output about 1e-6 (4), 1e-5 (6), 2e-5 (8).
//
// Routine parameters:
//   tile_size  4, 6, 8   inputs per side of a tile (3x3: F(2x2), F(4x4), F(6x6))
//   block      tiles that are worked on at a time
//   work       apart: each thread has its own blocks, whose transformed data stay in its cache;
//              together: all threads share one block, so that each transformed weight is read
//              once per block. For few tiles with many channels.
#include <algorithm>
#include <atomic>
#include <limits>

#include "core/float_span.h"
#include "core/post_ops.h"
#include "core/registry.h"
#include "core/winograd.h"
#include "routines/conv2/geometry.h"
#include "routines/conv2/winograd.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

constexpr std::int64_t kBlockSizes[] = {14, 28, 42, 56, 112, 224, 448};
// Products of one private block that are kept at a time, in floats.
constexpr std::int64_t kProductFloats = 64 * 1024;
// Where work is shared, a task transforms about this many (tile, 16 channels) …
constexpr std::int64_t kTaskVectors = 32;
// … or multiplies with one point's weights of this many blocks of outputs.
constexpr std::int64_t kTaskBlocks = 16;

constexpr std::int64_t pieces(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// How an image is cut into tiles.
struct Tiling {
  int tile = 0, outputs = 0;
  std::int64_t down = 0, across = 0, count = 0;  // count: of all images

  Tiling(const ConvGeometry& g, std::int64_t tile_size)
      : tile(static_cast<int>(tile_size)),
        outputs(static_cast<int>(tile_size - g.window.axes[2].kernel + 1)),
        down(pieces(g.window.axes[1].output, outputs)),
        across(pieces(g.window.axes[2].output, outputs)),
        count(g.batch * down * across) {}
  std::int64_t points() const { return tile * tile; }
};

// A post-op add of a tensor like the output, then a clamp: done while tiles are in registers.
struct Tail {
  int addend = -1;  // input
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  std::size_t taken = 0;  // post-ops that this covers
};

Tail tail_of(const Problem& problem) {
  Tail tail;
  const auto& ops = problem.post_ops;
  const TensorSpec& y = problem.outputs[0];
  if (!ops.empty() && ops[0].kind == PostOp::Kind::binary && ops[0].binary == BinaryOp::add) {
    const TensorSpec& x = problem.inputs[ops[0].input];
    if (x.type == y.type && x.layout == y.layout && x.shape == y.shape) {
      tail.addend = static_cast<int>(ops[0].input);
      tail.taken = 1;
    }
  }
  if (tail.taken < ops.size() && ops[tail.taken].kind == PostOp::Kind::unary) {
    const PostOp& op = ops[tail.taken];
    if (op.unary == UnaryOp::relu) tail.low = 0;
    if (op.unary == UnaryOp::clip) {
      tail.low = op.alpha;
      tail.high = op.beta;
    }
    if (op.unary == UnaryOp::relu || op.unary == UnaryOp::clip) ++tail.taken;
  }
  return tail;
}

// Where channels lie in memory: `channels` of a pixel in blocks of 16.
struct Channels {
  std::int64_t count = 0, blocks = 0, last = 0;
  std::int64_t pixel_stride = 0, block_stride = 0, image_stride = 0;

  Channels() = default;
  Channels(std::int64_t channels, std::int64_t pixels, Layout layout)
      : count(channels), blocks(pieces(channels, kWgBlock)), last(channels - (blocks - 1) * 16) {
    const bool blocked = layout == Layout::nchw16c;
    pixel_stride = blocked ? kWgBlock : channels;
    block_stride = blocked ? pixels * kWgBlock : kWgBlock;
    image_stride = pixels * (blocked ? blocks * kWgBlock : channels);
  }
};

// Transformed data of a block of tiles: points × blocks of channels × tiles × 16.
struct Transformed {
  std::int64_t block_stride = 0, point_stride = 0;

  Transformed() = default;
  Transformed(std::int64_t blocks, std::int64_t tiles) : block_stride(tiles * kWgBlock) {
    // An odd number of cache lines: points do not fall into the same cache set.
    point_stride = (blocks * tiles | 1) * kWgBlock;
  }
};

class WgKernel final : public Kernel {
 public:
  WgKernel(const ConvGeometry& g, Layout layout, const Tiling& tiling, PackedWeights packed,
           const Tail& tail, PostOpProgram post_ops)
      : t_(tiling),
        y_(g.window.axes[1]),
        x_(g.window.axes[2]),
        batch_(g.batch),
        in_(g.in, g.window.input_elements(), layout),
        out_(g.out, g.window.output_elements(), layout),
        blocked_(layout == Layout::nchw16c),
        packed_(std::move(packed.bytes)),
        has_bias_(g.bias),
        tail_(tail),
        post_ops_(std::move(post_ops)),
        zeros_(static_cast<std::size_t>(in_.blocks * kWgBlock)) {}

  // Cuts the tiles into blocks of at most `block`; slots: the most threads that work apart.
  void cut(std::int64_t block, bool apart, std::int64_t slots) {
    apart_ = apart;
    blocks_ = pieces(t_.count, block);
    if (apart && blocks_ > slots) blocks_ = pieces(blocks_, slots) * slots;
    blocks_ = std::min(blocks_, t_.count);
    const std::int64_t tiles =
        std::max<std::int64_t>(blocks_ == 0 ? 0 : pieces(t_.count, blocks_), 1);
    v_ = Transformed(in_.blocks, tiles);
    chunk_ = out_.blocks;
    if (apart) {
      const std::int64_t fit = kProductFloats / (t_.points() * tiles * kWgBlock);
      chunk_ = std::min(chunk_, std::max<std::int64_t>(fit / 2 * 2, 2));
    }
    c_ = Transformed(chunk_, tiles);
    v_at_ = regions_.add(t_.points() * v_.point_stride);
    c_at_ = regions_.add(t_.points() * c_.point_stride);
    slot_bytes_ = regions_.bytes();
    slots_ = apart ? std::clamp<std::int64_t>(blocks_, 1, slots) : 1;
  }

  std::size_t workspace_bytes() const noexcept override {
    return slot_bytes_ * static_cast<std::size_t>(slots_);
  }

  Status run(Context& context) const noexcept override {
    if (t_.count == 0 || out_.count == 0) return {};
    const Run run(*this, context);
    if (!apart_) {
      for (std::int64_t b = 0; b < blocks_; ++b) run_together(run, b);
      return {};
    }
    std::atomic<std::int64_t> next{0};
    const auto workers = std::min<std::int64_t>(slots_, context.pool().concurrency());
    parallel_for(context.pool(), workers, [&](std::int64_t worker) {
      for (std::int64_t b = next.fetch_add(1); b < blocks_; b = next.fetch_add(1))
        run_apart(run, b, worker);
    });
    return {};
  }

 private:
  struct Run {
    Run(const WgKernel& kernel, Context& c) noexcept
        : context(c),
          x(c.input(kX).as<float>()),
          y(c.output(0).as_mutable<float>()),
          weights(static_cast<const float*>(kernel.packed_.data())),
          bias(kernel.has_bias_ ? weights + kernel.t_.points() * kernel.weight_point() : nullptr),
          addend(kernel.tail_.addend < 0
                     ? nullptr
                     : c.input(static_cast<std::size_t>(kernel.tail_.addend)).as<float>()) {}
    Context& context;
    const float* x;
    float* y;
    const float* weights;
    const float* bias;
    const float* addend;
  };
  // A block of tiles and its transformed data.
  struct Block {
    std::int64_t first, tiles;
    float* v;
    float* c;
  };

  std::int64_t weight_point() const noexcept {
    return pieces(out_.count, kWgPanel) * kWgPanel * in_.count;
  }
  Block block_at(const Run& run, std::int64_t index, std::int64_t slot) const noexcept {
    auto* const memory = reinterpret_cast<float*>(run.context.workspace() +
                                                  static_cast<std::size_t>(slot) * slot_bytes_);
    const std::int64_t first = t_.count * index / blocks_;
    return {first, t_.count * (index + 1) / blocks_ - first, memory + v_at_, memory + c_at_};
  }

  void run_apart(const Run& run, std::int64_t index, std::int64_t slot) const noexcept {
    const Block block = block_at(run, index, slot);
    for (std::int64_t t = 0; t < block.tiles; ++t) encode(run, block, t);
    for (std::int64_t n = 0; n < out_.blocks; n += chunk_) {
      const std::int64_t blocks = std::min(chunk_, out_.blocks - n);
      for (std::int64_t p = 0; p < t_.points(); ++p) multiply(run, block, p, n, blocks, block.c);
      for (std::int64_t t = 0; t < block.tiles; ++t) decode(run, block, t, n, blocks);
    }
  }

  void run_together(const Run& run, std::int64_t index) const noexcept {
    const Block block = block_at(run, index, 0);
    ThreadPool& pool = run.context.pool();
    const auto over_tiles = [&](std::int64_t vectors, auto&& f) {
      const std::int64_t group = std::max<std::int64_t>(kTaskVectors / vectors, 1);
      parallel_for(pool, pieces(block.tiles, group), [&](std::int64_t i) {
        for (std::int64_t t = i * group; t < std::min((i + 1) * group, block.tiles); ++t) f(t);
      });
    };
    over_tiles(in_.blocks, [&](std::int64_t t) { encode(run, block, t); });
    const std::int64_t parts = pieces(out_.blocks, kTaskBlocks);
    parallel_for(pool, t_.points() * parts, [&](std::int64_t i) {
      const std::int64_t n = i % parts * kTaskBlocks;
      multiply(run, block, i / parts, n, std::min(kTaskBlocks, out_.blocks - n),
               block.c + n * c_.block_stride);
    });
    over_tiles(out_.blocks, [&](std::int64_t t) { decode(run, block, t, 0, out_.blocks); });
  }

  // Tile t of the block: its image, and its first output.
  struct Place {
    std::int64_t image, row, column;
  };
  Place place_of(const Block& block, std::int64_t t) const noexcept {
    const std::int64_t i = block.first + t;
    return {i / t_.across / t_.down, i / t_.across % t_.down * t_.outputs,
            i % t_.across * t_.outputs};
  }

  void encode(const Run& run, const Block& block, std::int64_t t) const noexcept {
    const Place place = place_of(block, t);
    const float* const image = run.x + place.image * in_.image_stride;
    const float* pixels[kMaxWinogradTile * kMaxWinogradTile];
    WgEncode task;
    task.pixels = pixels;
    task.input_block_stride = in_.block_stride;
    task.point_stride = v_.point_stride;
    task.block_stride = v_.block_stride;
    // Zeros stand for one block only where blocks lie far from each other.
    const std::int64_t step = blocked_ ? 1 : in_.blocks;
    for (std::int64_t b = 0; b < in_.blocks; b += step) {
      find_pixels(image + b * in_.block_stride, place, pixels);
      task.blocks = step;
      task.last_channels = b + step == in_.blocks ? in_.last : kWgBlock;
      task.to = block.v + b * v_.block_stride + t * kWgBlock;
      ops_.encode(t_.tile, task);
    }
  }

  void find_pixels(const float* image, const Place& place, const float** pixels) const noexcept {
    const std::int64_t top = place.row - y_.pad_begin, left = place.column - x_.pad_begin;
    for (std::int64_t i = 0; i < t_.tile; ++i, pixels += t_.tile) {
      const std::int64_t row = top + i;
      const bool inside = row >= 0 && row < y_.input;
      if (inside && left >= 0 && left + t_.tile <= x_.input) {
        const float* pixel = image + (row * x_.input + left) * in_.pixel_stride;
        for (int j = 0; j < t_.tile; ++j, pixel += in_.pixel_stride) pixels[j] = pixel;
        continue;
      }
      for (std::int64_t j = 0; j < t_.tile; ++j) {
        const std::int64_t column = left + j;
        pixels[j] = inside && column >= 0 && column < x_.input
                        ? image + (row * x_.input + column) * in_.pixel_stride
                        : zeros_.data();
      }
    }
  }

  // Blocks [n, n + blocks) of the outputs for one point; n is even.
  void multiply(const Run& run, const Block& block, std::int64_t point, std::int64_t n,
                std::int64_t blocks, float* c) const noexcept {
    WgMultiply task;
    task.tiles = block.tiles;
    task.depth = in_.count;
    task.v = block.v + point * v_.point_stride;
    task.v_block_stride = v_.block_stride;
    task.u = run.weights + point * weight_point() + n * kWgBlock * in_.count;
    task.output_blocks = blocks;
    task.c = c + point * c_.point_stride;
    task.c_block_stride = c_.block_stride;
    ops_.multiply(task);
  }

  void decode(const Run& run, const Block& block, std::int64_t t, std::int64_t n,
              std::int64_t blocks) const noexcept {
    const Place place = place_of(block, t);
    const std::int64_t at = place.image * out_.image_stride + n * out_.block_stride +
                            (place.row * x_.output + place.column) * out_.pixel_stride;
    const bool last = n + blocks == out_.blocks;
    WgDecode task;
    task.from = block.c + t * kWgBlock;
    task.point_stride = c_.point_stride;
    task.block_stride = c_.block_stride;
    task.blocks = blocks;
    task.last_channels = last ? out_.last : kWgBlock;
    task.pad_last = blocked_;
    task.bias = run.bias == nullptr ? nullptr : run.bias + n * kWgBlock;
    task.y = run.y + at;
    task.row_stride = x_.output * out_.pixel_stride;
    task.pixel_stride = out_.pixel_stride;
    task.y_block_stride = out_.block_stride;
    task.rows = std::min<std::int64_t>(t_.outputs, y_.output - place.row);
    task.columns = std::min<std::int64_t>(t_.outputs, x_.output - place.column);
    task.addend = run.addend == nullptr ? nullptr : run.addend + at;
    task.low = tail_.low;
    task.high = tail_.high;
    ops_.decode(t_.tile, t_.outputs, task);
    if (!post_ops_.empty()) finish(run, task, at, blocks);
  }

  // The post-ops that decode does not know.
  void finish(const Run& run, const WgDecode& task, std::int64_t at,
              std::int64_t blocks) const noexcept {
    const auto apply = [&](std::int64_t offset, std::int64_t count) {
      post_ops_.apply(run.context.inputs(), run.y + offset, offset, count);
    };
    const std::int64_t channels = (blocks - 1) * kWgBlock + task.last_channels;
    for (std::int64_t i = 0; i < task.rows; ++i) {
      const std::int64_t row = at + i * task.row_stride;
      if (blocked_)
        for (std::int64_t b = 0; b < blocks; ++b)
          apply(row + b * out_.block_stride, task.columns * kWgBlock);
      else if (channels == out_.count)
        apply(row, task.columns * channels);
      else
        for (std::int64_t j = 0; j < task.columns; ++j)
          apply(row + j * out_.pixel_stride, channels);
    }
  }

  Tiling t_;
  WindowAxis y_, x_;
  std::int64_t batch_;
  Channels in_, out_;
  bool blocked_;
  Tensor packed_;  // weights, then the bias
  bool has_bias_;
  Tail tail_;
  PostOpProgram post_ops_;
  std::vector<float> zeros_;  // a pixel outside of the image
  const WgOps& ops_ = wg_ops();
  bool apart_ = true;
  std::int64_t blocks_ = 0;  // of tiles
  std::int64_t chunk_ = 0;   // blocks of outputs that are multiplied before they are decoded
  std::int64_t slots_ = 1;
  Transformed v_, c_;
  FloatRegions regions_;
  std::int64_t v_at_ = 0, c_at_ = 0;
  std::size_t slot_bytes_ = 0;
};

// Floats of transformed input that a private block may take, so that they stay in a level-2 cache
// of 1 MiB beside the weights that stream by.
constexpr std::int64_t kPrivateFloats = 72 * 1024;

class WgConv final : public Routine {
 public:
  explicit WgConv(const char* descriptor) : Routine("conv2", descriptor) {}
  int default_rank() const override { return 15; }

  Applicability applicable(const Problem& problem) const override {
    for (const std::size_t i : {kX, kWeights, kBias})
      if (problem.has_input(i) && !takes(problem.inputs[i]))
        return Applicability::no("only float32 tensors, and constants of 16 or 32 bit floats");
    if (problem.outputs[0].type != DataType::float32)
      return Applicability::no("only float32 tensors");
    if (!is_known(problem.inputs[kWeights]) ||
        (problem.has_input(kBias) && !is_known(problem.inputs[kBias])))
      return Applicability::no("weights and bias must be constant: they are transformed once");
    const Result<ConvGeometry> g = conv_geometry(problem);
    if (!g.ok()) return Applicability::no(std::string(g.status().message()));
    const WindowAxis &y = g->window.axes[1], &x = g->window.axes[2];
    if (y.kernel != x.kernel || (x.kernel != 3 && x.kernel != 5))
      return Applicability::no("only kernels of 3x3 and 5x5");
    if (y.stride != 1 || x.stride != 1) return Applicability::no("only stride 1");
    if (y.dilation != 1 || x.dilation != 1) return Applicability::no("only dilation 1");
    if (g->group != 1) return Applicability::no("only one group");
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }

  RoutineParams default_params(const Problem& problem) const override {
    const std::int64_t kernel = problem.inputs[kWeights].shape[2];
    const Shape& y = problem.outputs[0].shape;
    // Larger tiles save more products, unless they stick out too far.
    std::int64_t best = 0;
    double least = 0;
    for (const std::int64_t tile : {4, 6, 8}) {
      if (!has_wg(tile, tile + 1 - kernel)) continue;
      const std::int64_t m = tile + 1 - kernel;
      const auto cost = static_cast<double>(pieces(y[2], m) * pieces(y[3], m) * tile * tile);
      if (best == 0 || cost < 0.8 * least) {
        best = tile;
        least = cost;
      }
    }
    return with_block(problem, best);
  }

  ParamSpace param_space(const Problem& problem) const override {
    const std::int64_t kernel = problem.inputs[kWeights].shape[2];
    ParamSpace space;
    ParamAxis tile_size{"tile_size", {}}, block{"block", {}};
    for (const std::int64_t tile : {4, 6, 8})
      if (has_wg(tile, tile + 1 - kernel)) tile_size.values.emplace_back(tile);
    for (const std::int64_t size : kBlockSizes) block.values.emplace_back(size);
    space.axes = {std::move(tile_size),
                  std::move(block),
                  {"work", {std::string("apart"), std::string("together")}}};
    const Shape y = problem.outputs[0].shape;
    // Of the blocks that hold all tiles, the smallest says it all.
    space.allows = [y, kernel](const Params& params) {
      const std::int64_t m = params.integer("tile_size") + 1 - kernel;
      const std::int64_t tiles = y[0] * pieces(y[2], m) * pieces(y[3], m);
      const std::int64_t size = params.integer("block");
      return size == kBlockSizes[0] || tiles > smaller_block(size);
    };
    return space;
  }

  std::string pack_key(const Problem&, const RoutineParams& params) const override {
    return "tile_size=" + std::to_string(params.integer("tile_size"));
  }

  Result<PackedWeights> pack(const Problem& problem, const RoutineParams& params,
                             Allocator& allocator) const override {
    const TensorSpec& w = problem.inputs[kWeights];
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(w.value, allocator));
    const WgWeights weights = {static_cast<const float*>(floats.data()), w.shape[0], w.shape[1],
                               static_cast<int>(params.integer("tile_size")),
                               static_cast<int>(w.shape[2])};
    const bool has_bias = problem.has_input(kBias);
    const std::int64_t bias = has_bias ? pieces(w.shape[0], kWgBlock) * kWgBlock : 0;
    const std::int64_t bytes = (weights.packed_floats() + bias) * 4;
    PackedWeights packed;
    SN_ASSIGN_OR_RETURN(packed.bytes, Tensor::create(DataType::uint8, Shape{bytes}, allocator));
    auto* const to = static_cast<float*>(packed.bytes.mutable_data());
    pack_wg_weights(weights, to);
    if (has_bias) {
      SN_ASSIGN_OR_RETURN(const Tensor values, as_float32(problem.inputs[kBias].value, allocator));
      std::fill_n(to + weights.packed_floats(), bias, 0.0f);
      std::copy_n(static_cast<const float*>(values.data()), w.shape[0],
                  to + weights.packed_floats());
    }
    return packed;
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    const Tail tail = tail_of(problem);
    Problem rest = problem;
    rest.post_ops.erase(rest.post_ops.begin(),
                        rest.post_ops.begin() + static_cast<std::ptrdiff_t>(tail.taken));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(rest));
    const Tiling tiling(geometry, params.integer("tile_size"));
    auto kernel = std::make_unique<WgKernel>(geometry, problem.inputs[kX].layout, tiling, packed,
                                             tail, std::move(post_ops));
    kernel->cut(params.integer("block"), params.text("work") == "apart",
                std::max(problem.threads, 1));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 private:
  static bool is_known(const TensorSpec& spec) { return spec.constant && !spec.value.empty(); }
  static bool takes(const TensorSpec& spec) {
    return spec.type == DataType::float32 || (spec.constant && is_span_float(spec.type));
  }
  // The block size before `size`; 0 for the smallest.
  static std::int64_t smaller_block(std::int64_t size) {
    std::int64_t smaller = 0;
    for (const std::int64_t other : kBlockSizes)
      if (other < size) smaller = other;
    return smaller;
  }

  // Blocks as large as the cache holds; together, where that would be too few tiles for the weights
  // that have to be read for each block.
  static RoutineParams with_block(const Problem& problem, std::int64_t tile) {
    const Shape& w = problem.inputs[kWeights].shape;
    const Shape& y = problem.outputs[0].shape;
    const std::int64_t m = tile + 1 - w[2];
    const std::int64_t tiles = y[0] * pieces(y[2], m) * pieces(y[3], m);
    const std::int64_t per_tile = tile * tile * pieces(w[1], kWgBlock) * kWgBlock;
    const std::int64_t fit = kPrivateFloats / std::max<std::int64_t>(per_tile, 1);
    const bool apart = fit >= kBlockSizes[0];
    std::int64_t block = kBlockSizes[0];
    for (const std::int64_t size : kBlockSizes)
      if ((!apart || size <= fit) && tiles > smaller_block(size)) block = size;
    RoutineParams params;
    params.set("tile_size", tile);
    params.set("block", block);
    params.set("work", std::string(apart ? "apart" : "together"));
    return params;
  }
};

}  // namespace

Status register_routine_conv2_cpu_wg(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<WgConv>("cpu:float32:nhwc/wg")));
  return registry.add(std::make_unique<WgConv>("cpu:float32:nchw16c/wg"));
}

}  // namespace softneuro
