#include "cpu/qint8/product.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace softneuro {
namespace {

constexpr std::int64_t kRows = 48;           // of a block: a multiple of every tile's rows
constexpr std::int64_t kTileFloats = 12288;  // float32 tiles for post-ops: 48 KiB of stack

// Where the parts of the packed bytes begin.
struct PackedParts {
  std::int64_t columns;  // of a group, padded
  std::int64_t start, scale, bias, fits, weights, bytes;

  explicit PackedParts(const ProductSizes& s) : columns(round_up(s.outputs, kInt8Lanes)) {
    const std::int64_t table = round_up(4 * s.groups * columns, kTensorAlignment);
    start = 0;
    scale = table;
    bias = 2 * table;
    fits = 3 * table;
    weights = fits + round_up(s.groups * s.panels(), kTensorAlignment);
    bytes = weights + s.groups * group_bytes(s);
  }
  std::int64_t group_bytes(const ProductSizes& s) const { return columns * s.taps * s.quads() * 4; }
  // Where a group's panel begins, from the weights of the group on.
  static std::int64_t panel_at(const ProductSizes& s, std::int64_t panel) {
    return panel * kInt8Panel * s.taps * s.quads() * 4;
  }
};

template <class T>
T* part(void* packed, std::int64_t at) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(packed) + at);
}
template <class T>
const T* part(const void* packed, std::int64_t at) {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(packed) + at);
}

// Output m of a group: [channels][kernel] → [kernel][channels], four by four, into its lane.
void pack_output(const ProductSizes& s, const std::int8_t* row, std::int64_t kernel, std::int64_t m,
                 std::int8_t* group) {
  const std::int64_t panel = m / kInt8Panel, lane = m % kInt8Panel;
  const std::int64_t width =
      round_up(std::min(kInt8Panel, s.outputs - panel * kInt8Panel), kInt8Lanes);
  std::int8_t* const to = group + PackedParts::panel_at(s, panel) + 4 * lane;
  const std::int64_t channels = s.depth / kernel;
  for (std::int64_t k = 0; k < s.depth; ++k)
    to[k / 4 * 4 * width + k % 4] = row[k % channels * kernel + k / channels];
}

// Whether they keep kInt8PairLimit.
bool pairs_fit(const std::int8_t* weights, std::int64_t bytes) {
  std::int32_t largest = 0;  // pairs of unlike signs need no look: their sum is small
  for (std::int64_t i = 0; i < bytes; i += 2)
    largest = std::max(largest, std::abs(weights[i] + weights[i + 1]));
  return largest <= kInt8PairLimit;
}

}  // namespace

std::size_t QuantizedProduct::packed_bytes(const ProductSizes& sizes) {
  return static_cast<std::size_t>(PackedParts(sizes).bytes);
}

Status QuantizedProduct::pack(const Problem& problem, const ProductSizes& sizes,
                              std::int64_t kernel, std::byte* packed) {
  SN_ASSIGN_OR_RETURN(const QuantizedWeights weights, quantize_weights(problem));
  const TensorScale x = tensor_scale(problem.inputs[0]);
  const PackedParts parts(sizes);
  std::memset(packed, 0, static_cast<std::size_t>(parts.bytes));
  for (std::int64_t m = 0; m < sizes.groups * sizes.outputs; ++m) {
    const std::int64_t group = m / sizes.outputs, column = m % sizes.outputs;
    const std::int8_t* const row = weights.values.data() + m * weights.depth;
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < weights.depth; ++k) sum += row[k];
    const std::int64_t at = group * parts.columns + column;
    const auto i = static_cast<std::size_t>(m);
    part<std::int32_t>(packed, parts.start)[at] = -x.unsigned_zero_point() * sum;
    part<float>(packed, parts.scale)[at] = x.scale * weights.scales[i];
    part<float>(packed, parts.bias)[at] = weights.bias[i];
    pack_output(sizes, row, kernel, column,
                part<std::int8_t>(packed, parts.weights) + group * parts.group_bytes(sizes));
  }
  for (std::int64_t p = 0; p < sizes.groups * sizes.panels(); ++p) {
    const std::int64_t panel = p % sizes.panels();
    const std::int64_t group_at = parts.weights + p / sizes.panels() * parts.group_bytes(sizes);
    const std::int64_t begin = PackedParts::panel_at(sizes, panel);
    const std::int64_t end = panel + 1 < sizes.panels() ? PackedParts::panel_at(sizes, panel + 1)
                                                        : parts.group_bytes(sizes);
    part<std::uint8_t>(packed, parts.fits)[p] =
        pairs_fit(part<std::int8_t>(packed, group_at + begin), end - begin) ? 1 : 0;
  }
  return {};
}

Result<QuantizedProduct> QuantizedProduct::create(const Problem& problem, const ProductSizes& sizes,
                                                  const PackedWeights& packed) {
  QuantizedProduct product;
  product.sizes_ = sizes;
  product.packed_ = packed.bytes;
  product.tile_ = int8_tile_ops().tile;
  const TensorScale x = tensor_scale(problem.inputs[0]);
  product.flip_ = x.is_signed;
  product.zero_byte_ = static_cast<std::uint8_t>(x.zero_point & 255);
  SN_ASSIGN_OR_RETURN(product.epilogue_, QuantizedEpilogue::create(problem, true));
  product.max_panels_ = sizes.panels();
  product.max_rows_ = kRows;
  if (product.epilogue_.needs_tiles()) {
    constexpr std::int64_t kLeastRows = 8;
    product.max_panels_ = std::min(sizes.panels(), kTileFloats / kLeastRows / kInt8Panel);
    const std::int64_t width = std::min(product.max_panels_ * kInt8Panel, sizes.outputs);
    product.max_rows_ =
        std::clamp<std::int64_t>(kTileFloats / std::max<std::int64_t>(width, 1), kLeastRows, kRows);
  }
  return product;
}

void QuantizedProduct::run(const Context& context, const ProductBlock& block) const noexcept {
  const std::int64_t first = block.first_panel * kInt8Panel;
  const std::int64_t width = std::min(block.panels * kInt8Panel, sizes_.outputs - first);
  if (!epilogue_.needs_tiles()) {
    run_panels(context, block, nullptr, width);
    if (!epilogue_.folded) finish_block(context, block, nullptr, width);
    return;
  }
  alignas(64) float tile[kTileFloats];
  run_panels(context, block, tile, width);
  finish_block(context, block, tile, width);
}

// Sums into the output, or into `tile` if that is given.
void QuantizedProduct::run_panels(const Context& context, const ProductBlock& block, float* tile,
                                  std::int64_t width) const noexcept {
  const PackedParts parts(sizes_);
  const void* const packed = packed_.data();
  const std::int64_t all = sizes_.groups * sizes_.outputs;
  const std::int64_t block_column = block.first_panel * kInt8Panel;
  Int8Tile t;
  t.rows = block.rows;
  t.row_count = block.row_count;
  t.taps = sizes_.taps;
  t.quads = sizes_.quads();
  t.flip = flip_;
  t.inverse = epilogue_.inverse;
  t.low = epilogue_.low;
  t.high = epilogue_.high;
  t.zero_point = epilogue_.scale.zero_point;
  t.row_stride = tile != nullptr ? width : all;
  t.levels = epilogue_.levels;
  t.addend = epilogue_.addend;
  t.addend.row_stride = all;
  for (std::int64_t p = block.first_panel; p < block.first_panel + block.panels; ++p) {
    const std::int64_t column = p * kInt8Panel;
    const std::int64_t table = block.group * parts.columns + column;
    const std::int64_t at = block.first_row * all + block.group * sizes_.outputs + column;
    t.columns = std::min(kInt8Panel, sizes_.outputs - column);
    t.weights = part<std::int8_t>(packed, parts.weights) + block.group * parts.group_bytes(sizes_) +
                PackedParts::panel_at(sizes_, p);
    t.pairs_fit = part<std::uint8_t>(packed, parts.fits)[block.group * sizes_.panels() + p] != 0;
    t.start = part<std::int32_t>(packed, parts.start) + table;
    t.scale = part<float>(packed, parts.scale) + table;
    t.bias = part<float>(packed, parts.bias) + table;
    if (epilogue_.addend_input >= 0)
      t.addend.data =
          context.input(static_cast<std::size_t>(epilogue_.addend_input)).as<std::uint8_t>() + at;
    if (tile != nullptr)
      t.floats = tile + (column - block_column);
    else if (epilogue_.to_bytes)
      t.bytes = context.output(0).as_mutable<std::uint8_t>() + at;
    else
      t.floats = context.output(0).as_mutable<float>() + at;
    tile_(t);
  }
}

// Post-ops, and the rounding of what is in `tile`.
void QuantizedProduct::finish_block(const Context& context, const ProductBlock& block, float* tile,
                                    std::int64_t width) const noexcept {
  const std::int64_t all = sizes_.groups * sizes_.outputs;
  const std::int64_t column = block.group * sizes_.outputs + block.first_panel * kInt8Panel;
  const bool whole = width == all;
  const std::int64_t runs = whole ? 1 : block.row_count;
  const std::int64_t count = whole ? block.row_count * width : width;
  for (std::int64_t r = 0; r < runs; ++r) {
    const std::int64_t offset = (block.first_row + r) * all + column;
    epilogue_.apply(context, tile == nullptr ? nullptr : tile + r * width, offset, count);
  }
}

}  // namespace softneuro
