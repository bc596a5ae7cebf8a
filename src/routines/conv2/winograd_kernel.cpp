#include "routines/conv2/winograd_kernel.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "core/layers/winograd_matrices.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/conv2/geometry.h"
#include "routines/conv2/winograd.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// Products of a private block that are kept at a time, in floats.
constexpr std::int64_t kProductFloats = 64 * 1024;
// Transformed weights of a panel that are kept at a time.
constexpr std::int64_t kExpandedFloats = 96 * 1024;
// Where work is shared, a task transforms about this many (tile, 16 channels) …
constexpr std::int64_t kTaskVectors = 32;
// … or multiplies with one point's weights of this many blocks of outputs.
constexpr std::int64_t kTaskBlocks = 16;
constexpr std::int64_t kPanelBlocks = kWgPanel / kWgBlock;

// How an image is cut into tiles.
struct Tiling {
  int tile = 0, outputs = 0;
  std::int64_t down = 0, across = 0, count = 0;  // count: of all images

  Tiling(const ConvGeometry& g, int tile_size)
      : tile(tile_size),
        outputs(tile_size + 1 - static_cast<int>(g.window.axes[2].kernel)),
        down(chunks_of(g.window.axes[1].output, outputs)),
        across(chunks_of(g.window.axes[2].output, outputs)),
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
      : count(channels), blocks(chunks_of(channels, kWgBlock)), last(channels - (blocks - 1) * 16) {
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

// T: of x and y.
template <class T>
class WgKernel final : public Kernel {
 public:
  WgKernel(const ConvGeometry& g, Layout layout, const WgChoice& choice, std::int64_t slots,
           Tensor packed, const Tail& tail, PostOpProgram post_ops)
      : t_(g, choice.tile),
        y_(g.window.axes[1]),
        x_(g.window.axes[2]),
        in_(g.in, g.window.input_elements(), layout),
        out_(g.out, g.window.output_elements(), layout),
        blocked_(layout == Layout::nchw16c),
        packed_(std::move(packed)),
        has_bias_(g.bias),
        tail_(tail),
        post_ops_(std::move(post_ops)),
        zeros_(static_cast<std::size_t>(in_.blocks * kWgBlock)),
        work_(choice.work) {
    blocks_ = chunks_of(t_.count, choice.block);
    if (work_ == WgWork::apart && blocks_ > slots) blocks_ = chunks_of(blocks_, slots) * slots;
    blocks_ = std::min(blocks_, t_.count);
    if (work_ == WgWork::apart && blocks_ > 0)
      parts_ = std::clamp<std::int64_t>(slots / blocks_, 1, std::max<std::int64_t>(panels(), 1));
    const std::int64_t tiles =
        std::max<std::int64_t>(blocks_ == 0 ? 0 : chunks_of(t_.count, blocks_), 1);
    v_ = Transformed(in_.blocks, tiles);
    cut_channels(tiles);
    c_ = Transformed(chunk_, tiles);
    reserve(slots);
  }

  std::size_t workspace_bytes() const noexcept override {
    return slots_at_ + slot_bytes_ * static_cast<std::size_t>(slots_);
  }

  Status run(Context& context) const noexcept override {
    if (t_.count == 0 || out_.count == 0) return {};
    const Run run(*this, context);
    if (work_ == WgWork::apart) {
      share(context.pool(), blocks_ * parts_, [&](std::int64_t i, std::int64_t slot) {
        run_apart(run, block_at(run, i / parts_, slot), i % parts_);
      });
      return {};
    }
    for (std::int64_t i = 0; i < blocks_; ++i) {
      const Block block = block_at(run, i, 0);
      if (work_ == WgWork::together)
        run_together(run, block);
      else
        run_panels(run, block);
    }
    return {};
  }

 private:
  // How many blocks of outputs are multiplied before they are transformed back, and how many input
  // channels' weights are transformed at a time.
  void cut_channels(std::int64_t tiles) {
    chunk_ = std::min(chunks_of(panels(), parts_) * kPanelBlocks, out_.blocks);
    if (work_ == WgWork::apart) {
      const std::int64_t fit = kProductFloats / (t_.points() * tiles * kWgBlock);
      chunk_ = std::min(chunk_, std::max<std::int64_t>(fit / kPanelBlocks, 1) * kPanelBlocks);
    }
    if (work_ != WgWork::panels) return;
    chunk_ = kPanelBlocks;
    const std::int64_t fit = kExpandedFloats / (t_.points() * kWgPanel);
    depth_ = chunks_of(chunks_of(in_.count, chunks_of(in_.count, fit)), kWgBlock) * kWgBlock;
    u_point_stride_ = (depth_ * kWgPanel / kWgBlock | 1) * kWgBlock;
  }

  // Workspace: what all threads share, then a slot for each thread.
  void reserve(std::int64_t slots) {
    FloatRegions shared, own;
    (work_ == WgWork::apart ? own : shared).add(t_.points() * v_.point_stride);
    c_at_ = own.bytes();
    own.add(t_.points() * c_.point_stride);
    u_at_ = own.bytes();
    if (work_ == WgWork::panels) own.add(t_.points() * u_point_stride_);
    slots_at_ = shared.bytes();
    slot_bytes_ = own.bytes();
    const std::int64_t tasks = work_ == WgWork::panels ? panels() : blocks_ * parts_;
    slots_ = work_ == WgWork::together ? 1 : std::clamp<std::int64_t>(tasks, 1, slots);
  }

  struct Run {
    Run(const WgKernel& kernel, Context& c) noexcept
        : context(c),
          x(c.input(kX).as<T>()),
          y(c.output(0).as_mutable<T>()),
          weights(static_cast<const float*>(kernel.packed_.data())),
          bias(kernel.has_bias_ ? weights + kernel.weight_floats() : nullptr),
          addend(kernel.tail_.addend < 0
                     ? nullptr
                     : c.input(static_cast<std::size_t>(kernel.tail_.addend)).template as<T>()) {}
    Context& context;
    const T* x;
    T* y;
    const float* weights;
    const float* bias;
    const T* addend;
  };
  // A block of tiles and its transformed data.
  struct Block {
    std::int64_t first, tiles;
    float* v;
    float* c;
  };

  std::int64_t weight_point() const noexcept {
    return chunks_of(out_.count, kWgPanel) * kWgPanel * in_.count;
  }
  std::int64_t weight_floats() const noexcept {
    const std::int64_t points = work_ == WgWork::panels ? x_.kernel * x_.kernel : t_.points();
    return points * weight_point();
  }
  std::byte* slot_of(const Run& run, std::int64_t slot) const noexcept {
    return run.context.workspace() + slots_at_ + static_cast<std::size_t>(slot) * slot_bytes_;
  }
  Block block_at(const Run& run, std::int64_t index, std::int64_t slot) const noexcept {
    std::byte* const own = slot_of(run, slot);
    std::byte* const v = work_ == WgWork::apart ? own : run.context.workspace();
    const std::int64_t first = t_.count * index / blocks_;
    return {first, t_.count * (index + 1) / blocks_ - first, reinterpret_cast<float*>(v),
            reinterpret_cast<float*>(own + c_at_)};
  }

  // f(i, slot) for each i < count; no two calls at once have the same slot.
  template <class F>
  void share(const Workers& workers, std::int64_t count, F&& f) const noexcept {
    std::atomic<std::int64_t> next{0};
    const auto slots = std::min<std::int64_t>(slots_, workers.concurrency());
    parallel_for(workers, slots, [&](std::int64_t slot) {
      for (std::int64_t i = next.fetch_add(1); i < count && !workers.cancelled();
           i = next.fetch_add(1))
        f(i, slot);
    });
  }

  // f(t) for each tile of a block; `vectors`: the work that one is, in blocks of channels.
  template <class F>
  void over_tiles(const Run& run, const Block& block, std::int64_t vectors, F&& f) const noexcept {
    const std::int64_t group = std::max<std::int64_t>(kTaskVectors / vectors, 1);
    parallel_for(run.context.pool(), chunks_of(block.tiles, group), [&](std::int64_t i) {
      for (std::int64_t t = i * group; t < std::min((i + 1) * group, block.tiles); ++t) f(t);
    });
  }

  std::int64_t panels() const noexcept { return chunks_of(out_.blocks, kPanelBlocks); }
  // First block of outputs of part `part`.
  std::int64_t blocks_before(std::int64_t part) const noexcept {
    return std::min(panels() * part / parts_ * kPanelBlocks, out_.blocks);
  }

  void run_apart(const Run& run, const Block& block, std::int64_t part) const noexcept {
    for (std::int64_t t = 0; t < block.tiles; ++t) encode(run, block, t);
    const std::int64_t last = blocks_before(part + 1);
    for (std::int64_t n = blocks_before(part); n < last; n += chunk_) {
      const std::int64_t blocks = std::min(chunk_, last - n);
      for (std::int64_t p = 0; p < t_.points(); ++p) multiply(run, block, p, n, blocks, block.c);
      for (std::int64_t t = 0; t < block.tiles; ++t) decode(run, block, t, n, blocks);
    }
  }

  void run_together(const Run& run, const Block& block) const noexcept {
    over_tiles(run, block, in_.blocks, [&](std::int64_t t) { encode(run, block, t); });
    const std::int64_t parts = chunks_of(out_.blocks, kTaskBlocks);
    parallel_for(run.context.pool(), t_.points() * parts, [&](std::int64_t i) {
      const std::int64_t n = i % parts * kTaskBlocks;
      multiply(run, block, i / parts, n, std::min(kTaskBlocks, out_.blocks - n),
               block.c + n * c_.block_stride);
    });
    over_tiles(run, block, out_.blocks,
               [&](std::int64_t t) { decode(run, block, t, 0, out_.blocks); });
  }

  void run_panels(const Run& run, const Block& block) const noexcept {
    over_tiles(run, block, in_.blocks, [&](std::int64_t t) { encode(run, block, t); });
    share(run.context.pool(), panels(), [&](std::int64_t panel, std::int64_t slot) {
      Block own = block;
      own.c = reinterpret_cast<float*>(slot_of(run, slot) + c_at_);
      run_panel(run, own, panel, reinterpret_cast<float*>(slot_of(run, slot) + u_at_));
    });
  }

  // Cache lines of weights.
  struct Lines {
    const float* first;
    std::int64_t count;
  };
  // The weights that this thread will most likely transform after those of input channels [k,
  // k + depth_): on their way to the cache while these are multiplied.
  Lines lines_after(const Run& run, std::int64_t panel, std::int64_t k) const noexcept {
    k += depth_;
    if (k >= in_.count) {
      k = 0;
      panel += slots_;
    }
    if (panel * kPanelBlocks >= out_.blocks) return {nullptr, 0};
    const std::int64_t floats = x_.kernel * x_.kernel * kWgPanel;  // per channel
    return {run.weights + (panel * in_.count + k) * floats,
            std::min(depth_, in_.count - k) * floats / kWgBlock};
  }

  void run_panel(const Run& run, const Block& block, std::int64_t panel, float* u) const noexcept {
    const std::int64_t n = panel * kPanelBlocks;
    const std::int64_t blocks = std::min(kPanelBlocks, out_.blocks - n);
    const std::int64_t kernel = x_.kernel * x_.kernel;
    for (std::int64_t k = 0; k < in_.count; k += depth_) {
      WgExpand expanded;
      expanded.from = run.weights + (panel * in_.count + k) * kernel * kWgPanel;
      expanded.depth = std::min(depth_, in_.count - k);
      expanded.to = u;
      expanded.point_stride = u_point_stride_;
      ops_.expand(t_.tile, static_cast<int>(x_.kernel), expanded);
      const Lines next = lines_after(run, panel, k);
      for (std::int64_t p = 0; p < t_.points(); ++p) {
        for (std::int64_t i = next.count * p / t_.points(); i < next.count * (p + 1) / t_.points();
             ++i)
          __builtin_prefetch(next.first + i * kWgBlock, 0, 2);
        WgMultiply task = product(block, p, blocks);
        task.depth = expanded.depth;
        task.v += k / kWgBlock * v_.block_stride;
        task.u = u + p * u_point_stride_;
        task.accumulate = k > 0;
        ops_.multiply(task);
      }
    }
    for (std::int64_t t = 0; t < block.tiles; ++t) decode(run, block, t, n, blocks);
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
    const T* const image = run.x + place.image * in_.image_stride;
    const T* pixels[kMaxWinogradTile * kMaxWinogradTile];
    WgEncode<T> task;
    task.pixels = pixels;
    task.input_block_stride = in_.block_stride;
    task.point_stride = v_.point_stride;
    task.block_stride = v_.block_stride;
    // Zeros stand for one block only where blocks lie far from each other.
    const std::int64_t step = blocked_ ? 1 : in_.blocks;
    for (std::int64_t b = 0; b < in_.blocks; b += step) {
      find_wg_pixels<T>(
          {image + b * in_.block_stride, y_.input, x_.input, in_.pixel_stride, zeros_.data()},
          t_.tile, place.row - y_.pad_begin, place.column - x_.pad_begin, pixels);
      task.blocks = step;
      task.last_channels = b + step == in_.blocks ? in_.last : kWgBlock;
      task.to = block.v + b * v_.block_stride + t * kWgBlock;
      transforms_.encode(t_.tile, task);
    }
  }

  // All input channels for one point, into block.c; without weights.
  WgMultiply product(const Block& block, std::int64_t point, std::int64_t blocks) const noexcept {
    WgMultiply task;
    task.tiles = block.tiles;
    task.depth = in_.count;
    task.v = block.v + point * v_.point_stride;
    task.v_block_stride = v_.block_stride;
    task.u = nullptr;
    task.output_blocks = blocks;
    task.c = block.c + point * c_.point_stride;
    task.c_block_stride = c_.block_stride;
    task.accumulate = false;
    return task;
  }

  // Blocks [n, n + blocks) of the outputs for one point; n is a multiple of kPanelBlocks.
  void multiply(const Run& run, const Block& block, std::int64_t point, std::int64_t n,
                std::int64_t blocks, float* c) const noexcept {
    WgMultiply task = product(block, point, blocks);
    task.u = run.weights + point * weight_point() + n * kWgBlock * in_.count;
    task.c = c + point * c_.point_stride;
    ops_.multiply(task);
  }

  void decode(const Run& run, const Block& block, std::int64_t t, std::int64_t n,
              std::int64_t blocks) const noexcept {
    const Place place = place_of(block, t);
    const std::int64_t at = place.image * out_.image_stride + n * out_.block_stride +
                            (place.row * x_.output + place.column) * out_.pixel_stride;
    const bool last = n + blocks == out_.blocks;
    WgDecode<T> task;
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
    transforms_.decode(t_.tile, t_.outputs, task);
    if constexpr (std::is_same_v<T, float>)
      if (!post_ops_.empty()) finish(run, task, at, blocks);
  }

  // The post-ops that decode does not know.
  void finish(const Run& run, const WgDecode<T>& task, std::int64_t at,
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
  Channels in_, out_;
  bool blocked_;
  Tensor packed_;  // weights, then the bias
  bool has_bias_;
  Tail tail_;
  PostOpProgram post_ops_;
  std::vector<T> zeros_;  // a pixel outside of the image
  WgWork work_;
  const WgOps& ops_ = wg_ops();
  const WgTransforms<T>& transforms_ = ops_.of<T>();
  std::int64_t blocks_ = 0;  // of tiles
  // Of the outputs, where threads are at least twice the blocks. Each encodes the block's tiles
  // anew: a few per cent of all products, more of a part's, so there is never more than a task per
  // thread.
  std::int64_t parts_ = 1;
  std::int64_t chunk_ = 0;  // blocks of outputs in c
  std::int64_t depth_ = 0;  // input channels in u
  Transformed v_, c_;
  std::int64_t u_point_stride_ = 0;
  // The shared v (unless work is apart); then for each slot v (if work is apart), c, u.
  std::size_t slots_at_ = 0, slot_bytes_ = 0;
  std::size_t c_at_ = 0, u_at_ = 0;  // in a slot
  std::int64_t slots_ = 1;
};

}  // namespace

bool wg_takes_post_ops(const Problem& problem) {
  return problem.outputs[0].type == DataType::float32
             ? PostOpProgram::supports(problem).ok()
             : tail_of(problem).taken == problem.post_ops.size();
}

Result<std::unique_ptr<Kernel>> make_wg_kernel(const Problem& problem, const WgChoice& choice,
                                               Tensor packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  const Tail tail = tail_of(problem);
  Problem rest = problem;
  rest.post_ops.erase(rest.post_ops.begin(),
                      rest.post_ops.begin() + static_cast<std::ptrdiff_t>(tail.taken));
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(rest));
  const auto make = [&]<class T>(T) -> Result<std::unique_ptr<Kernel>> {
    return make_kernel<WgKernel<T>>(geometry, problem.inputs[kX].layout, choice,
                                    std::max(problem.threads, 1), std::move(packed), tail,
                                    std::move(post_ops));
  };
  const DataType type = problem.inputs[kX].type;
  return type == DataType::float16    ? make(Half{})
         : type == DataType::bfloat16 ? make(BFloat16{})
                                      : make(float{});
}

}  // namespace softneuro
