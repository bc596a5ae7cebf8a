// conv1, conv2, conv3 cpu:qint8:nhwc/direct: an output position's patch of the input by panels of
// weights; cpu/qint8/product.h. The patch is read in place, one run of channels per
// kernel position; where those runs are no multiple of four bytes, or many, patches are copied
// first.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/qint8/product.h"
#include "routines/conv2/conv_rows.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPointers = 1024;     // of a block: rows · taps, at most
constexpr std::int64_t kMostTaps = 64;       // kernels beyond that are copied
constexpr std::int64_t kTaskWork = 1 << 22;  // products of a task, at most
constexpr std::int64_t kLeastRows = 12;      // of a block that is partitioned for more threads
constexpr std::int64_t kStep = 16;           // bytes that are copied at a time

// Runs of a patch are short: whole steps are faster than the exact number of bytes. Up to
// kStep − 1 more are read and written.
void copy_in_steps(const std::uint8_t* from, std::int64_t bytes, std::uint8_t* to) noexcept {
  for (std::int64_t i = 0; i < bytes; i += kStep) std::memcpy(to + i, from + i, kStep);
}

bool copies_patches(const ConvGeometry& g) {
  return g.in % 4 != 0 || g.window.kernel_elements() > kMostTaps;
}

ProductSizes sizes_of(const ConvGeometry& g) {
  ProductSizes sizes;
  sizes.groups = g.group;
  sizes.outputs = g.out;
  sizes.depth = g.depth();
  sizes.taps = copies_patches(g) ? 1 : g.window.kernel_elements();
  return sizes;
}

class QuantizedConvKernel final : public Kernel {
 public:
  QuantizedConvKernel(const ConvGeometry& geometry, int threads, QuantizedProduct product)
      : product_(std::move(product)),
        g_(geometry),
        sizes_(sizes_of(geometry)),
        rows_(ConvRows::of_bytes(geometry)),
        copies_(copies_patches(geometry)),
        positions_(geometry.window.output_elements()),
        patch_(round_up(geometry.depth(), 4)) {
    partition(threads);
    zeros_ = copies_ ? 0 : round_up(g_.in, kTensorAlignment);
  }

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(zeros_ + (copies_ ? blocks_ * patches_ : 0));
  }

  Status run(Context& context) const noexcept override {
    std::memset(context.workspace(), product_.zero_byte(), static_cast<std::size_t>(zeros_));
    // Groups, when patches are copied, follow one another: they share the copies' memory.
    const std::int64_t rounds = copies_ ? g_.group : 1;
    const std::int64_t groups = g_.group / rounds;
    for (std::int64_t round = 0; round < rounds; ++round)
      parallel_for(context.pool(), blocks_ * groups,
                   [&](std::int64_t i) { run_block(context, i / groups, round + i % groups); });
    return {};
  }

 private:
  // Blocks of output positions, and panels of outputs, of one task.
  void partition(int threads) {
    const std::int64_t rows = g_.batch * positions_;
    std::int64_t most =
        std::max<std::int64_t>(1, std::min(product_.max_rows(), kPointers / sizes_.taps));
    if (threads > 1) {
      const std::int64_t panels = std::max<std::int64_t>(copies_ ? 1 : sizes_.panels(), 1);
      const std::int64_t wanted = (threads * kTasksPerThread + panels - 1) / panels;
      most = std::clamp(rows / wanted, std::min(kLeastRows, most), most);
    }
    // Equal blocks.
    const std::int64_t least = std::max<std::int64_t>((rows + most - 1) / most, 1);
    block_rows_ = std::max<std::int64_t>((rows + least - 1) / least, 1);
    row_blocks_ = (rows + block_rows_ - 1) / block_rows_;
    panels_ = std::max<std::int64_t>(product_.max_panels(), 1);
    if (!copies_) {
      const std::int64_t depth = std::max<std::int64_t>(g_.depth(), 1);
      const std::int64_t work =
          task_operations(rows * g_.channels_out() * depth, kTaskWork, threads);
      panels_ = std::clamp<std::int64_t>(work / (block_rows_ * kInt8Panel * depth), 1, panels_);
    }
    panel_chunks_ = (sizes_.panels() + panels_ - 1) / panels_;
    blocks_ = copies_ ? row_blocks_ : row_blocks_ * panel_chunks_;
    patches_ = block_rows_ * patch_ + kStep;
  }

  void run_block(Context& context, std::int64_t i, std::int64_t group) const noexcept {
    const std::uint8_t* rows[kPointers];
    ProductBlock block;
    block.rows = rows;
    block.group = group;
    block.first_row = (copies_ ? i : i / panel_chunks_) * block_rows_;
    block.row_count = std::min(block_rows_, g_.batch * positions_ - block.first_row);
    if (block.row_count <= 0) return;
    if (copies_) {
      auto* patches = reinterpret_cast<std::uint8_t*>(context.workspace()) + i * patches_;
      for (std::int64_t r = 0; r < block.row_count; ++r) rows[r] = patches + r * patch_;
      copy_patches(context.input(0), block, patches);
    } else {
      const auto* zeros = reinterpret_cast<const std::uint8_t*>(context.workspace());
      rows_.point_bytes(block.first_row, block.row_count,
                        context.input(0).as<std::uint8_t>() + group * g_.in, zeros, rows,
                        block.row_count, 1);
    }
    const std::int64_t first = copies_ ? 0 : i % panel_chunks_ * panels_;
    const std::int64_t last =
        copies_ ? sizes_.panels() : std::min(first + panels_, sizes_.panels());
    for (std::int64_t p = first; p < last; p += panels_) {
      block.first_panel = p;
      block.panels = std::min(panels_, last - p);
      product_.run(context, block);
    }
  }

  // Channel 0 of a group in the image that a patch is in.
  const std::uint8_t* image_of(const TensorView& x, std::int64_t row,
                               std::int64_t group) const noexcept {
    return x.as<std::uint8_t>() + row / positions_ * g_.window.input_elements() * g_.channels_in() +
           group * g_.in;
  }

  // In their order: what is written behind a patch is in the next one.
  void copy_patches(const TensorView& input, const ProductBlock& block,
                    std::uint8_t* patch) const noexcept {
    const auto& [az, ay, ax] = g_.window.axes;
    const bool by_rows = g_.group == 1 && ax.dilation == 1;
    std::int64_t position = block.first_row % positions_;
    std::int64_t x = position % ax.output, y = position / ax.output % ay.output;
    std::int64_t z = position / (ax.output * ay.output);
    const std::uint8_t* image = image_of(input, block.first_row, block.group);
    for (std::int64_t r = 0; r < block.row_count; ++r, patch += patch_) {
      if (by_rows)
        copy_patch_rows(image, z * az.stride - az.pad_begin, y * ay.stride - ay.pad_begin,
                        x * ax.stride - ax.pad_begin, patch);
      else
        for_taps(g_.window, position, [&](std::int64_t tap, std::int64_t at) {
          copy_pixels(at >= 0 ? image + at * g_.channels_in() : nullptr, 1, patch + tap * g_.in);
        });
      std::fill(patch + g_.depth(), patch + patch_, std::uint8_t{0});
      ++position;
      if (++x < ax.output) continue;
      x = 0;
      if (++y < ay.output) continue;
      y = 0;
      if (++z < az.output) continue;
      z = position = 0;
      image += g_.window.input_elements() * g_.channels_in();
    }
  }

  // Of an undivided image, whose pixels are contiguous as they are in the patch. x0, y0, z0: where
  // the window begins.
  void copy_patch_rows(const std::uint8_t* image, std::int64_t z0, std::int64_t y0, std::int64_t x0,
                       std::uint8_t* to) const noexcept {
    const auto& [az, ay, ax] = g_.window.axes;
    const std::int64_t begin = std::clamp<std::int64_t>(-x0, 0, ax.kernel);
    const std::int64_t end = std::clamp<std::int64_t>(ax.input - x0, begin, ax.kernel);
    const std::int64_t run = ax.kernel * g_.in;
    const std::int64_t y_step = ay.dilation * ax.input * g_.in;
    // Runs from here on may be copied in steps that reach no farther than the image.
    const std::int64_t last_whole = g_.window.input_elements() * g_.in - round_up(run, kStep);
    for (std::int64_t z = z0; z < z0 + az.extent(); z += az.dilation) {
      std::int64_t at = ((z * ay.input + y0) * ax.input + x0) * g_.in;
      const bool is_whole = begin == 0 && end == ax.kernel && z >= 0 && z < az.input && y0 >= 0 &&
                            y0 + ay.extent() <= ay.input &&
                            at + (ay.kernel - 1) * y_step <= last_whole;
      if (is_whole) {
        for (std::int64_t y = 0; y < ay.kernel; ++y, at += y_step, to += run)
          copy_in_steps(image + at, run, to);
        continue;
      }
      for (std::int64_t y = y0; y < y0 + ay.extent(); y += ay.dilation, at += y_step, to += run) {
        const bool inside = z >= 0 && z < az.input && y >= 0 && y < ay.input;
        copy_pixels(nullptr, inside ? begin : ax.kernel, to);
        if (!inside) continue;
        copy_pixels(image + at + begin * g_.in, end - begin, to + begin * g_.in);
        copy_pixels(nullptr, ax.kernel - end, to + end * g_.in);
      }
    }
  }

  // from: null for padding.
  void copy_pixels(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) const noexcept {
    const auto bytes = static_cast<std::size_t>(count * g_.in);
    if (from != nullptr)
      std::memcpy(to, from, bytes);
    else
      std::memset(to, product_.zero_byte(), bytes);
  }

  QuantizedProduct product_;
  ConvGeometry g_;
  ProductSizes sizes_;
  ConvRows rows_;
  bool copies_;
  std::int64_t positions_;  // of one image of the output
  std::int64_t patch_;      // bytes of a copied patch
  std::int64_t zeros_ = 0;  // bytes of what the padding points at
  std::int64_t block_rows_ = 1, row_blocks_ = 1, panels_ = 1, panel_chunks_ = 1, blocks_ = 1;
  std::int64_t patches_ = 0;  // bytes of a block's copied patches
};

Applicability applicable(const Problem& problem) {
  if (problem.inputs[0].shape[1] == 0) return Applicability::no("needs input channels");
  if (const auto geometry = conv_geometry(problem); !geometry.ok())
    return Applicability::no(geometry.status().message());
  return takes_quantized_weights(problem);
}

std::size_t packed_bytes(const Problem& problem) {
  return QuantizedProduct::packed_bytes(sizes_of(*conv_geometry(problem)));
}

Status pack(const Problem& problem, Allocator&, std::byte* packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  return QuantizedProduct::pack(problem, sizes_of(geometry), geometry.window.kernel_elements(),
                                packed);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights& packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  SN_ASSIGN_OR_RETURN(QuantizedProduct product,
                      QuantizedProduct::create(problem, sizes_of(geometry), packed));
  return make_kernel<QuantizedConvKernel>(geometry, context.threads(), std::move(product));
}

}  // namespace

Status register_routine_conv2_cpu_qint8_direct(Registry& registry) {
  RoutineFunctions functions = quantized_layer();
  functions.facts.default_rank = 10;
  functions.applicable = applicable;
  functions.packed_bytes = packed_bytes;
  functions.pack = pack;
  functions.create_with = create;
  return add_routines(registry, {"conv1", "conv2", "conv3"}, {"cpu:qint8:nhwc"}, "direct",
                      functions);
}

}  // namespace softneuro
