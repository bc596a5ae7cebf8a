// adapt cpu/direct: casts run along memory, layouts change by tiles that fit the first-level cache;
// both in one pass, the cast on that side of the tile where its elements are contiguous.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "adapt/run_cast.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/simd/transpose_tiles.h"
#include "cpu/tensor/broadcast_walk.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTileElements = 4096;
constexpr std::int64_t kGrain = 16384;  // elements of a task, at least

// Same layout on both sides: runs as long as they have one scale, or one for each element.
class CastKernel final : public Kernel {
 public:
  CastKernel(const Problem& problem, RunCast cast)
      : cast_(std::move(cast)),
        elements_(stored_elements(problem.inputs[0].shape, problem.inputs[0].layout)),
        padding_(problem.inputs[0].shape, problem.inputs[0].layout),
        is_in_place_(size_of(problem.inputs[0].type) == size_of(problem.outputs[0].type)) {
    if (!cast_.per_channel()) {
      run_ = elements_;
      return;
    }
    const Shape& shape = problem.inputs[0].shape;
    const Layout layout = problem.inputs[0].layout;
    const std::int64_t block = block_of(layout);
    if (layout == Layout::plain) {
      const int axis = cast_.axis();
      const std::int64_t inner = shape.elements(axis + 1, shape.rank());
      along_ = inner == 1;
      run_ = along_ ? shape[axis] : inner;
      channel_runs_ = along_ ? 1 : shape[axis];
    } else {
      along_ = true;
      run_ = block > 1 ? block : shape[1];
      channel_runs_ = block > 1 ? (shape[1] + block - 1) / block : 1;
      repeats_ = block > 1 ? shape.elements(2, shape.rank()) : 1;
    }
  }
  int in_place_input() const noexcept override { return is_in_place_ ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const auto size = static_cast<std::int64_t>(size_of(x.type));
    if (elements_ == 0) return {};
    if (!cast_.needed()) {
      copy_bytes(x.data, y.data, elements_ * size, context.pool());
      return {};
    }
    const std::int64_t chunk = std::min(run_, kTileElements);
    const std::int64_t chunks = (run_ + chunk - 1) / chunk;
    const auto target_size = static_cast<std::int64_t>(size_of(y.type));
    parallel_ranges(context.pool(), elements_ / run_ * chunks, kGrain / chunk,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) {
                        const std::int64_t run = i / chunks, begin = i % chunks * chunk;
                        const std::int64_t at = run * run_ + begin;
                        cast_.run(x.as<std::byte>() + at * size,
                                  y.as_mutable<std::byte>() + at * target_size,
                                  std::min(chunk, run_ - begin), channels_of(run, begin));
                      }
                    });
    if (padding_.any() && (x.type == DataType::qint8 || y.type == DataType::qint8))
      padding_.for_each(0, elements_, [&](std::int64_t i) {
        std::memset(y.as_mutable<std::byte>() + i * target_size, 0,
                    static_cast<std::size_t>(target_size));
      });
    return {};
  }

 private:
  RunChannels channels_of(std::int64_t run, std::int64_t begin) const noexcept {
    const std::int64_t channel = run / repeats_ % channel_runs_;
    return {along_ ? channel * run_ + begin : channel, along_};
  }

  RunCast cast_;
  std::int64_t elements_;
  ChannelPadding padding_;
  bool is_in_place_;
  std::int64_t run_ = 1;           // elements
  std::int64_t repeats_ = 1;       // runs of the same channels behind each other
  std::int64_t channel_runs_ = 1;  // runs (or repeats of them) until the channels begin anew
  bool along_ = false;
};

// One tensor in one layout, seen as [n][channel block][position] and so on.
class Side {
 public:
  Side(const Shape& shape, Layout layout, std::size_t element_bytes)
      : layout_(layout),
        block_(block_of(layout)),
        channels_(shape[1]),
        positions_(shape.elements(2, shape.rank())),
        columns_(layout == Layout::channels_last ? channels_ : block_),
        bytes_(static_cast<std::int64_t>(element_bytes)) {}

  bool is_plain() const noexcept { return layout_ == Layout::plain; }
  // Rows of a tile are channels in the plain layout, positions in the others.
  std::int64_t row_stride() const noexcept { return is_plain() ? positions_ : columns_; }
  std::int64_t block() const noexcept { return block_; }
  // Offset in bytes of element [n, c, s].
  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t s) const noexcept {
    if (is_plain()) return ((n * channels_ + c) * positions_ + s) * bytes_;
    const std::int64_t groups = (channels_ + columns_ - 1) / columns_;
    return (((n * groups + c / columns_) * positions_ + s) * columns_ + c % columns_) * bytes_;
  }

 private:
  Layout layout_;
  std::int64_t block_;
  std::int64_t channels_, positions_;
  std::int64_t columns_;  // channels that are side by side, in layouts other than the plain one
  std::int64_t bytes_;
};

class LayoutKernel final : public Kernel {
 public:
  LayoutKernel(const Problem& problem, RunCast cast)
      : cast_(std::move(cast)),
        from_(problem.inputs[0].shape, problem.inputs[0].layout, size_of(problem.inputs[0].type)),
        to_(problem.outputs[0].shape, problem.outputs[0].layout, size_of(problem.outputs[0].type)),
        from_bytes_(size_of(problem.inputs[0].type)),
        to_bytes_(size_of(problem.outputs[0].type)) {
    const Shape& shape = problem.inputs[0].shape;
    batch_ = shape[0];
    channels_ = shape[1];
    positions_ = shape.elements(2, shape.rank());
    const std::int64_t a = from_.block(), b = to_.block();
    // Within one block on either side.
    tile_channels_ = a > 1 && b > 1 ? std::gcd(a, b) : std::max(a, b);
    if (a == 1 && b == 1) tile_channels_ = std::min(from_bytes_, to_bytes_) == 1 ? 64 : 32;
    tile_positions_ = kTileElements / tile_channels_;
    cast_first_ = from_.is_plain() || from_.block() == tile_channels_;
  }

  Status run(Context& context) const noexcept override {
    const std::int64_t channel_tiles = (channels_ + tile_channels_ - 1) / tile_channels_;
    const std::int64_t position_tiles = (positions_ + tile_positions_ - 1) / tile_positions_;
    const std::int64_t elements =
        std::min(tile_channels_, channels_) * std::min(tile_positions_, positions_);
    parallel_ranges(
        context.pool(), batch_ * position_tiles * channel_tiles,
        kGrain / std::max<std::int64_t>(elements, 1), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            Tile tile{};
            tile.n = i / channel_tiles / position_tiles;
            tile.c = i % channel_tiles * tile_channels_;
            tile.s = i / channel_tiles % position_tiles * tile_positions_;
            tile.channels = std::min(tile_channels_, channels_ - tile.c);
            tile.positions = std::min(tile_positions_, positions_ - tile.s);
            run_tile(context.input(0).as<std::byte>() + from_.at(tile.n, tile.c, tile.s),
                     context.output(0).as_mutable<std::byte>() + to_.at(tile.n, tile.c, tile.s),
                     tile);
          }
        });
    return {};
  }

 private:
  struct Tile {
    std::int64_t n, c, s;
    std::int64_t channels, positions;
  };

  void run_tile(const std::byte* source, std::byte* target, const Tile& tile) const noexcept {
    if (!cast_.needed()) {
      move(source, from_.row_stride(), target, to_.row_stride(), from_bytes_, tile);
    } else {
      alignas(64) std::byte buffer[kTileElements * sizeof(float)];
      if (cast_first_) {
        const std::int64_t stride = from_.is_plain() ? tile.positions : tile_channels_;
        cast(from_.is_plain(), source, from_.row_stride(), from_bytes_, buffer, stride, to_bytes_,
             tile);
        move(buffer, stride, target, to_.row_stride(), to_bytes_, tile);
      } else {
        const std::int64_t stride = to_.is_plain() ? tile.positions : tile_channels_;
        move(source, from_.row_stride(), buffer, stride, from_bytes_, tile);
        cast(to_.is_plain(), buffer, stride, from_bytes_, target, to_.row_stride(), to_bytes_,
             tile);
      }
    }
    clear_padding(target, tile);
  }

  // Between two layouts, one type.
  void move(const std::byte* source, std::int64_t source_stride, std::byte* target,
            std::int64_t target_stride, std::size_t bytes, const Tile& tile) const noexcept {
    const bool rows_are_channels = from_.is_plain();
    const TileMove m = {source,
                        target,
                        source_stride,
                        target_stride,
                        rows_are_channels ? tile.channels : tile.positions,
                        rows_are_channels ? tile.positions : tile.channels};
    from_.is_plain() != to_.is_plain() ? transpose_tiles().transpose(bytes, m)
                                       : transpose_tiles().copy(bytes, m);
  }

  // Between two types, one orientation: rows of one channel, or blocks of positions as one run.
  void cast(bool rows_are_channels, const std::byte* source, std::int64_t source_stride,
            std::size_t source_bytes, std::byte* target, std::int64_t target_stride,
            std::size_t target_bytes, const Tile& tile) const noexcept {
    const std::int64_t from = source_stride * static_cast<std::int64_t>(source_bytes);
    const std::int64_t to = target_stride * static_cast<std::int64_t>(target_bytes);
    if (rows_are_channels) {
      for (std::int64_t c = 0; c < tile.channels; ++c)
        cast_.run(source + c * from, target + c * to, tile.positions, {tile.c + c, false});
    } else if (!cast_.per_channel() && source_stride == target_stride) {
      const std::int64_t last = (tile.positions - 1) * source_stride;
      cast_.run(source, target, last + tile.channels);
    } else {
      for (std::int64_t s = 0; s < tile.positions; ++s)
        cast_.run(source + s * from, target + s * to, tile.channels, {tile.c, true});
    }
  }

  // Of the last block of channels.
  void clear_padding(std::byte* target, const Tile& tile) const noexcept {
    const std::int64_t block = to_.block();
    const std::int64_t end = tile.c + tile.channels;
    if (block == 1 || end < channels_ || end % block == 0) return;
    const auto bytes = static_cast<std::int64_t>(to_bytes_);
    const std::int64_t first = tile.channels * bytes;
    const auto count = static_cast<std::size_t>((block - end % block) * bytes);
    for (std::int64_t s = 0; s < tile.positions; ++s)
      std::memset(target + s * block * bytes + first, 0, count);
  }

  RunCast cast_;
  Side from_, to_;
  std::size_t from_bytes_, to_bytes_;
  std::int64_t batch_, channels_, positions_;
  std::int64_t tile_channels_, tile_positions_;
  bool cast_first_;
};

Applicability applicable(const Problem& problem) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (Applicability formats = takes_formats(problem); !formats) return formats;
  const RunCast cast(x, y);
  if (cast.per_channel()) {
    if (cast.axis() < 0) return Applicability::no("scales along two different axes");
    const bool is_plain = x.layout == Layout::plain && y.layout == Layout::plain;
    if (cast.axis() != 1 && !is_plain) return Applicability::no("needs scales along the channels");
  }
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_adapt(const Problem& problem) {
  RunCast cast(problem.inputs[0], problem.outputs[0]);
  if (problem.inputs[0].layout == problem.outputs[0].layout)
    return make_kernel<CastKernel>(problem, std::move(cast));
  return make_kernel<LayoutKernel>(problem, std::move(cast));
}

}  // namespace

Status register_routine_adapt_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"adapt"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 10}, .applicable = applicable, .create = make_direct_adapt});
}

}  // namespace softneuro
