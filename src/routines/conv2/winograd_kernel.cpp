#include "routines/conv2/winograd_kernel.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "core/base/parallel.h"
#include "core/layers/winograd_matrices.h"
#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/simd/float_workspace.h"
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

// How an image is partitioned into tiles.
struct Tiling {
  WindowAxis y, x;
  int tile = 0, outputs = 0;
  std::int64_t down = 0, across = 0, count = 0;  // count: of all images

  Tiling(const ConvGeometry& g, int tile_size)
      : y(g.window.axes[1]),
        x(g.window.axes[2]),
        tile(tile_size),
        outputs(tile_size + 1 - static_cast<int>(x.kernel)),
        down(chunks_of(y.output, outputs)),
        across(chunks_of(x.output, outputs)),
        count(g.batch * down * across) {}
  std::int64_t points() const { return tile * tile; }
  std::int64_t taps() const { return x.kernel * x.kernel; }

  // The image of tile i, and its first output.
  struct Place {
    std::int64_t image, row, column;
  };
  Place place_of(std::int64_t i) const {
    return {i / across / down, i / across % down * outputs, i % across * outputs};
  }
};

// Where channels are in memory: `channels` of a pixel in blocks of 16.
struct Channels {
  std::int64_t count = 0, blocks = 0, last = 0;
  std::int64_t pixel_stride = 0, block_stride = 0, image_stride = 0;

  Channels(std::int64_t channels, std::int64_t pixels, Layout layout)
      : count(channels), blocks(chunks_of(channels, kWgBlock)), last(channels - (blocks - 1) * 16) {
    const bool blocked = layout == Layout::nchw16c;
    pixel_stride = blocked ? kWgBlock : channels;
    block_stride = blocked ? pixels * kWgBlock : kWgBlock;
    image_stride = pixels * (blocked ? blocks * kWgBlock : channels);
  }
  std::int64_t panels() const { return chunks_of(blocks, kPanelBlocks); }
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

// How the work is partitioned, and where its data are in the workspace: what all threads share,
// that is v (unless work is apart), then a slot for each thread with c and, behind it, v or u.
struct Schedule {
  WgWork work = WgWork::apart;
  std::int64_t blocks = 0;  // of tiles
  // Of the outputs, where threads are at least twice the blocks. Each encodes the block's tiles
  // anew: a few per cent of all products, more of a part's, so there is never more than a task per
  // thread.
  std::int64_t parts = 1;
  std::int64_t chunk = 0;  // blocks of outputs that c holds: transformed back together
  std::int64_t depth = 0;  // input channels whose weights u holds
  Transformed v, c;
  std::int64_t u_point_stride = 0;
  FloatRegions shared, slot;
  std::int64_t behind_c = 0;  // in a slot
  std::int64_t slots = 1;

  Schedule(const Tiling& t, const Channels& in, const Channels& out, const WgChoice& choice,
           std::int64_t threads)
      : work(choice.work), blocks(chunks_of(t.count, choice.block)) {
    const bool apart = work == WgWork::apart;
    if (apart && blocks > threads) blocks = chunks_of(blocks, threads) * threads;
    blocks = std::min(blocks, t.count);
    if (apart && blocks > 0)
      parts =
          std::clamp<std::int64_t>(threads / blocks, 1, std::max<std::int64_t>(out.panels(), 1));
    const std::int64_t tiles = blocks == 0 ? 1 : chunks_of(t.count, blocks);
    chunk = std::min(chunks_of(out.panels(), parts) * kPanelBlocks, out.blocks);
    if (apart) {
      const std::int64_t fit = kProductFloats / (t.points() * tiles * kWgBlock);
      chunk = std::min(chunk, std::max<std::int64_t>(fit / kPanelBlocks, 1) * kPanelBlocks);
    } else if (work == WgWork::panels) {
      chunk = kPanelBlocks;
      const std::int64_t fit = kExpandedFloats / (t.points() * kWgPanel);
      depth = chunks_of(chunks_of(in.count, chunks_of(in.count, fit)), kWgBlock) * kWgBlock;
      u_point_stride = (depth * kWgPanel / kWgBlock | 1) * kWgBlock;
    }
    v = Transformed(in.blocks, tiles);
    c = Transformed(chunk, tiles);
    slot.add(t.points() * c.point_stride);
    behind_c = slot.add(t.points() * (apart ? v.point_stride : u_point_stride));
    if (!apart) shared.add(t.points() * v.point_stride);
    const std::int64_t tasks = work == WgWork::panels ? out.panels() : blocks * parts;
    slots = work == WgWork::together ? 1 : std::clamp<std::int64_t>(tasks, 1, threads);
  }

  std::size_t bytes() const {
    return shared.bytes() + slot.bytes() * static_cast<std::size_t>(slots);
  }
  float* slot_of(std::byte* workspace, std::int64_t index) const {
    return reinterpret_cast<float*>(workspace + shared.bytes() +
                                    static_cast<std::size_t>(index) * slot.bytes());
  }
};

// f(i, slot) for each i < count; no two calls at once have the same of `slots` slots.
template <class F>
void share(const Workers& workers, std::int64_t slots, std::int64_t count, F&& f) noexcept {
  std::atomic<std::int64_t> next{0};
  slots = std::min<std::int64_t>(slots, workers.concurrency());
  parallel_for(workers, slots, [&](std::int64_t slot) {
    for (std::int64_t i = next.fetch_add(1); i < count && !workers.cancelled();
         i = next.fetch_add(1))
      f(i, slot);
  });
}

// f(t) for each of so many tiles; `vectors`: the work that one is, in blocks of channels.
template <class F>
void over_tiles(const Workers& workers, std::int64_t tiles, std::int64_t vectors, F&& f) noexcept {
  const std::int64_t group = std::max<std::int64_t>(kTaskVectors / vectors, 1);
  parallel_for(workers, chunks_of(tiles, group), [&](std::int64_t i) {
    for (std::int64_t t = i * group; t < std::min((i + 1) * group, tiles); ++t) f(t);
  });
}

// T: of x and y.
template <class T>
class WgKernel final : public Kernel {
 public:
  WgKernel(const ConvGeometry& g, Layout layout, const WgChoice& choice, std::int64_t threads,
           Tensor packed, EpiloguePostOps post_ops)
      : t_(g, choice.tile),
        in_(g.in, g.window.input_elements(), layout),
        out_(g.out, g.window.output_elements(), layout),
        blocked_(layout == Layout::nchw16c),
        packed_(std::move(packed)),
        has_bias_(g.bias),
        post_ops_(std::move(post_ops)),
        zeros_(static_cast<std::size_t>(in_.blocks * kWgBlock)),
        schedule_(t_, in_, out_, choice, threads) {}

  std::size_t workspace_bytes() const noexcept override { return schedule_.bytes(); }

  Status run(Context& context) const noexcept override {
    if (t_.count == 0 || out_.count == 0) return {};
    const Run run(*this, context);
    if (schedule_.work == WgWork::apart) {
      share(context.pool(), schedule_.slots, schedule_.blocks * schedule_.parts,
            [&](std::int64_t i, std::int64_t slot) {
              run_apart(run, block_at(run, i / schedule_.parts, slot), i % schedule_.parts);
            });
      return {};
    }
    for (std::int64_t i = 0; i < schedule_.blocks; ++i) {
      const Block block = block_at(run, i, 0);
      if (schedule_.work == WgWork::together)
        run_together(run, block);
      else
        run_panels(run, block);
    }
    return {};
  }

 private:
  struct Run {
    Run(const WgKernel& kernel, Context& c) noexcept
        : context(c),
          x(c.input(kX).as<T>()),
          y(c.output(0).as_mutable<T>()),
          weights(static_cast<const float*>(kernel.packed_.data())),
          bias(kernel.has_bias_ ? weights + kernel.weight_floats() : nullptr),
          addend(kernel.post_ops_.template addend<T>(c.inputs(), 0)) {}
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

  std::int64_t weight_point() const noexcept { return out_.panels() * kWgPanel * in_.count; }
  std::int64_t weight_floats() const noexcept {
    return (schedule_.work == WgWork::panels ? t_.taps() : t_.points()) * weight_point();
  }
  Block block_at(const Run& run, std::int64_t index, std::int64_t slot) const noexcept {
    std::byte* const workspace = run.context.workspace();
    float* const c = schedule_.slot_of(workspace, slot);
    float* const v = schedule_.work == WgWork::apart ? c + schedule_.behind_c
                                                     : reinterpret_cast<float*>(workspace);
    const std::int64_t first = t_.count * index / schedule_.blocks;
    return {first, t_.count * (index + 1) / schedule_.blocks - first, v, c};
  }

  void run_apart(const Run& run, const Block& block, std::int64_t part) const noexcept {
    for (std::int64_t t = 0; t < block.tiles; ++t) encode(run, block, t);
    const auto blocks_before = [&](std::int64_t i) {
      return std::min(out_.panels() * i / schedule_.parts * kPanelBlocks, out_.blocks);
    };
    const std::int64_t last = blocks_before(part + 1);
    for (std::int64_t n = blocks_before(part); n < last; n += schedule_.chunk) {
      const std::int64_t blocks = std::min(schedule_.chunk, last - n);
      for (std::int64_t p = 0; p < t_.points(); ++p) multiply(run, block, p, n, blocks, block.c);
      for (std::int64_t t = 0; t < block.tiles; ++t) decode(run, block, t, n, blocks);
    }
  }

  void encode_all(const Run& run, const Block& block) const noexcept {
    over_tiles(run.context.pool(), block.tiles, in_.blocks,
               [&](std::int64_t t) { encode(run, block, t); });
  }

  void run_together(const Run& run, const Block& block) const noexcept {
    encode_all(run, block);
    const std::int64_t parts = chunks_of(out_.blocks, kTaskBlocks);
    parallel_for(run.context.pool(), t_.points() * parts, [&](std::int64_t i) {
      const std::int64_t n = i % parts * kTaskBlocks;
      multiply(run, block, i / parts, n, std::min(kTaskBlocks, out_.blocks - n),
               block.c + n * schedule_.c.block_stride);
    });
    over_tiles(run.context.pool(), block.tiles, out_.blocks,
               [&](std::int64_t t) { decode(run, block, t, 0, out_.blocks); });
  }

  void run_panels(const Run& run, const Block& block) const noexcept {
    encode_all(run, block);
    share(run.context.pool(), schedule_.slots, out_.panels(),
          [&](std::int64_t panel, std::int64_t slot) {
            Block private_block = block;
            private_block.c = schedule_.slot_of(run.context.workspace(), slot);
            run_panel(run, private_block, panel, private_block.c + schedule_.behind_c);
          });
  }

  // Cache lines of weights.
  struct Lines {
    const float* first;
    std::int64_t count;
  };
  // The weights that this thread will most likely transform after those of input channels [k,
  // k + depth): on their way to the cache while these are multiplied.
  Lines lines_after(const Run& run, std::int64_t panel, std::int64_t k) const noexcept {
    k += schedule_.depth;
    if (k >= in_.count) {
      k = 0;
      panel += schedule_.slots;
    }
    if (panel * kPanelBlocks >= out_.blocks) return {nullptr, 0};
    const std::int64_t floats = t_.taps() * kWgPanel;  // per channel
    return {run.weights + (panel * in_.count + k) * floats,
            std::min(schedule_.depth, in_.count - k) * floats / kWgBlock};
  }

  void run_panel(const Run& run, const Block& block, std::int64_t panel, float* u) const noexcept {
    const std::int64_t n = panel * kPanelBlocks;
    const std::int64_t blocks = std::min(kPanelBlocks, out_.blocks - n);
    for (std::int64_t k = 0; k < in_.count; k += schedule_.depth) {
      WgExpand expanded = {};
      expanded.from = run.weights + (panel * in_.count + k) * t_.taps() * kWgPanel;
      expanded.depth = std::min(schedule_.depth, in_.count - k);
      expanded.to = u;
      expanded.point_stride = schedule_.u_point_stride;
      ops_.expand(t_.tile, static_cast<int>(t_.x.kernel), expanded);
      const Lines next = lines_after(run, panel, k);
      for (std::int64_t p = 0; p < t_.points(); ++p) {
        for (std::int64_t i = next.count * p / t_.points(); i < next.count * (p + 1) / t_.points();
             ++i)
          __builtin_prefetch(next.first + i * kWgBlock, 0, 2);
        WgMultiply task = product(block, p, blocks);
        task.depth = expanded.depth;
        task.v += k / kWgBlock * schedule_.v.block_stride;
        task.u = u + p * schedule_.u_point_stride;
        task.accumulate = k > 0;
        ops_.multiply(task);
      }
    }
    for (std::int64_t t = 0; t < block.tiles; ++t) decode(run, block, t, n, blocks);
  }

  void encode(const Run& run, const Block& block, std::int64_t t) const noexcept {
    const Tiling::Place place = t_.place_of(block.first + t);
    const T* const image = run.x + place.image * in_.image_stride;
    const T* pixels[kMaxWinogradTile * kMaxWinogradTile];
    WgEncode<T> task = {};
    task.pixels = pixels;
    task.input_block_stride = in_.block_stride;
    task.point_stride = schedule_.v.point_stride;
    task.block_stride = schedule_.v.block_stride;
    // Zeros stand for one block only where blocks are far from each other.
    const std::int64_t step = blocked_ ? 1 : in_.blocks;
    for (std::int64_t b = 0; b < in_.blocks; b += step) {
      find_wg_pixels<T>(
          {image + b * in_.block_stride, t_.y.input, t_.x.input, in_.pixel_stride, zeros_.data()},
          t_.tile, place.row - t_.y.pad_begin, place.column - t_.x.pad_begin, pixels);
      task.blocks = step;
      task.last_channels = b + step == in_.blocks ? in_.last : kWgBlock;
      task.to = block.v + b * schedule_.v.block_stride + t * kWgBlock;
      transforms_.encode(t_.tile, task);
    }
  }

  // All input channels for one point, into block.c; without weights.
  WgMultiply product(const Block& block, std::int64_t point, std::int64_t blocks) const noexcept {
    WgMultiply task = {};
    task.tiles = block.tiles;
    task.depth = in_.count;
    task.v = block.v + point * schedule_.v.point_stride;
    task.v_block_stride = schedule_.v.block_stride;
    task.output_blocks = blocks;
    task.c = block.c + point * schedule_.c.point_stride;
    task.c_block_stride = schedule_.c.block_stride;
    return task;
  }

  // Blocks [n, n + blocks) of the outputs for one point; n is a multiple of kPanelBlocks.
  void multiply(const Run& run, const Block& block, std::int64_t point, std::int64_t n,
                std::int64_t blocks, float* c) const noexcept {
    WgMultiply task = product(block, point, blocks);
    task.u = run.weights + point * weight_point() + n * kWgBlock * in_.count;
    task.c = c + point * schedule_.c.point_stride;
    ops_.multiply(task);
  }

  void decode(const Run& run, const Block& block, std::int64_t t, std::int64_t n,
              std::int64_t blocks) const noexcept {
    const Tiling::Place place = t_.place_of(block.first + t);
    const std::int64_t at = place.image * out_.image_stride + n * out_.block_stride +
                            (place.row * t_.x.output + place.column) * out_.pixel_stride;
    WgDecode<T> task = {};
    task.from = block.c + t * kWgBlock;
    task.point_stride = schedule_.c.point_stride;
    task.block_stride = schedule_.c.block_stride;
    task.blocks = blocks;
    task.last_channels = n + blocks == out_.blocks ? out_.last : kWgBlock;
    task.pad_last = blocked_;
    task.bias = run.bias == nullptr ? nullptr : run.bias + n * kWgBlock;
    task.y = run.y + at;
    task.row_stride = t_.x.output * out_.pixel_stride;
    task.pixel_stride = out_.pixel_stride;
    task.y_block_stride = out_.block_stride;
    task.rows = std::min<std::int64_t>(t_.outputs, t_.y.output - place.row);
    task.columns = std::min<std::int64_t>(t_.outputs, t_.x.output - place.column);
    task.addend = run.addend == nullptr ? nullptr : run.addend + at;
    task.low = post_ops_.low();
    task.high = post_ops_.high();
    transforms_.decode(t_.tile, t_.outputs, task);
    if constexpr (std::is_same_v<T, float>)
      if (!post_ops_.rest().empty()) finish(run, task, at, blocks);
  }

  // The post-ops that decode does not know.
  void finish(const Run& run, const WgDecode<T>& task, std::int64_t at,
              std::int64_t blocks) const noexcept {
    const auto apply = [&](std::int64_t offset, std::int64_t count) {
      post_ops_.rest().apply(run.context.inputs(), run.y + offset, offset, count);
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
  Channels in_, out_;
  bool blocked_;
  Tensor packed_;  // weights, then the bias
  bool has_bias_;
  EpiloguePostOps post_ops_;
  std::vector<T> zeros_;  // a pixel outside of the image
  Schedule schedule_;
  const WgOps& ops_ = wg_ops();
  const WgTransforms<T>& transforms_ = ops_.of<T>();
};

}  // namespace

bool wg_takes_post_ops(const Problem& problem) {
  const DataType type = problem.outputs[0].type;
  if (type == DataType::float32) return PostOpProgram::supports(problem).ok();
  const auto post_ops = EpiloguePostOps::create(problem, true, type);
  return post_ops.ok() && post_ops->rest().empty();
}

Result<std::unique_ptr<Kernel>> make_wg_kernel(const Problem& problem, int threads,
                                               const WgChoice& choice, Tensor packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  const DataType type = problem.inputs[kX].type;
  SN_ASSIGN_OR_RETURN(EpiloguePostOps post_ops, EpiloguePostOps::create(problem, true, type));
  const auto make = [&]<class T>(T) -> Result<std::unique_ptr<Kernel>> {
    return make_kernel<WgKernel<T>>(geometry, problem.inputs[kX].layout, choice, threads,
                                    std::move(packed), std::move(post_ops));
  };
  if (type == DataType::float16) return make(Half{});
  if (type == DataType::bfloat16) return make(BFloat16{});
  return make(float{});
}

}  // namespace softneuro
