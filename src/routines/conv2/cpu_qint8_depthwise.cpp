// conv1, conv2, conv3 cpu:qint8:nhwc/depthwise: one input and one output channel per group. All
// channels of an output position at a time, read in place.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/qint8/epilogue.h"
#include "routines/conv2/conv_rows.h"
#include "routines/conv2/qint8_depthwise.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPointers = kDepthwiseMostTaps;  // of a task: positions · kernel positions
constexpr std::int64_t kMostPositions = 64;             // of a task
constexpr std::int64_t kTaskWork = 1 << 19;             // products of a task, at most
constexpr std::int64_t kTileFloats = 8192;  // float32 tiles for post-ops: 32 KiB of stack

// Sizes, and where the parts of the packed bytes begin.
struct DepthwiseParts {
  std::int64_t channels, taps;  // padded
  std::int64_t scale, bias, weights, bytes;

  explicit DepthwiseParts(const ConvGeometry& g)
      : channels(round_up(g.channels_out(), kDepthwiseBlock)),
        taps(round_up(g.window.kernel_elements(), kDepthwiseTaps)),
        scale(4 * channels),
        bias(8 * channels),
        weights(12 * channels),
        bytes(weights + channels * taps) {}
};

// Channel c of the tables.
std::int64_t table_place(std::int64_t c) {
  return c / kDepthwiseBlock * kDepthwiseBlock + depthwise_lane(c % kDepthwiseBlock);
}

class QuantizedDepthwiseKernel final : public Kernel {
 public:
  QuantizedDepthwiseKernel(const Problem& problem, int threads, const ConvGeometry& geometry,
                           Tensor packed, QuantizedEpilogue epilogue)
      : g_(geometry),
        packed_(std::move(packed)),
        epilogue_(std::move(epilogue)),
        rows_(ConvRows::of_bytes(geometry)),
        positions_(geometry.window.output_elements()),
        taps_(DepthwiseParts(geometry).taps),
        block_(std::clamp<std::int64_t>(kPointers / taps_, 1, kMostPositions)) {
    const TensorScale x = tensor_scale(problem.inputs[0]);
    flip_ = x.is_signed;
    zero_byte_ = static_cast<std::uint8_t>(x.zero_point & 255);
    const std::int64_t channels = std::max<std::int64_t>(g_.channels_out(), 1);
    const std::int64_t work =
        task_operations(g_.batch * positions_ * channels * taps_, kTaskWork, threads);
    block_ = std::clamp<std::int64_t>(work / (channels * taps_), 1, block_);
    if (epilogue_.needs_tiles())
      block_ = std::clamp<std::int64_t>(kTileFloats / channels, 1, block_);
  }

  // What the padding points at.
  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(g_.channels_in());
  }

  Status run(Context& context) const noexcept override {
    std::memset(context.workspace(), zero_byte_, workspace_bytes());
    const std::int64_t rows = g_.batch * positions_;
    parallel_for(context.pool(), (rows + block_ - 1) / block_, [&](std::int64_t i) {
      run_block(context, i * block_, std::min(block_, rows - i * block_));
    });
    return {};
  }

 private:
  void run_block(Context& context, std::int64_t first, std::int64_t count) const noexcept {
    const std::uint8_t* taps[kPointers];
    point_at_patches(context, first, count, taps);
    const DepthwiseParts parts(g_);
    const auto* packed = static_cast<const std::byte*>(packed_.data());
    const std::int64_t offset = first * g_.channels_out();
    Qint8DepthwiseTask task;
    task.taps = taps;
    task.tap_count = taps_;
    task.kernel_elements = rows_.segments();
    task.positions = count;
    task.channels = g_.channels_out();
    task.flip = flip_;
    task.start = reinterpret_cast<const std::int32_t*>(packed);
    task.scale = reinterpret_cast<const float*>(packed + parts.scale);
    task.bias = reinterpret_cast<const float*>(packed + parts.bias);
    task.weights = reinterpret_cast<const std::int8_t*>(packed + parts.weights);
    task.inverse = epilogue_.inverse;
    task.low = epilogue_.low;
    task.high = epilogue_.high;
    task.zero_point = epilogue_.scale.zero_point;
    if (epilogue_.needs_tiles()) {
      run_tiles(context, task, offset);
      return;
    }
    if (epilogue_.to_bytes)
      task.bytes = context.output(0).as_mutable<std::uint8_t>() + offset;
    else
      task.floats = context.output(0).as_mutable<float>() + offset;
    function_(task);
    if (!epilogue_.folded) epilogue_.apply(context, nullptr, offset, count * g_.channels_out());
  }

  // Through float32, some channels of a position at a time if a position has very many.
  void run_tiles(Context& context, Qint8DepthwiseTask task, std::int64_t offset) const noexcept {
    alignas(64) float tile[kTileFloats];
    const std::int64_t channels = task.channels;
    if (task.positions * channels <= kTileFloats) {
      task.floats = tile;
      function_(task);
      epilogue_.apply(context, tile, offset, task.positions * channels);
      return;
    }
    for (std::int64_t c = 0; c < channels; c += kTileFloats) {  // a single position
      const std::uint8_t* taps[kPointers];
      Qint8DepthwiseTask part = task;
      for (std::int64_t t = 0; t < taps_; ++t) taps[t] = task.taps[t] + c;
      part.taps = taps;
      part.channels = std::min(kTileFloats, channels - c);
      part.start += c;
      part.scale += c;
      part.bias += c;
      part.weights += c * taps_;
      part.floats = tile;
      function_(part);
      epilogue_.apply(context, tile, offset + c, part.channels);
    }
  }

  void point_at_patches(Context& context, std::int64_t first, std::int64_t count,
                        const std::uint8_t** taps) const noexcept {
    const auto* zeros = reinterpret_cast<const std::uint8_t*>(context.workspace());
    rows_.point_bytes(first, count, context.input(0).as<std::uint8_t>(), zeros, taps, 1, taps_);
    for (std::int64_t r = 0; r < count; ++r, taps += taps_)
      std::fill(taps + rows_.segments(), taps + taps_, zeros);
  }

  ConvGeometry g_;
  Tensor packed_;
  QuantizedEpilogue epilogue_;
  ConvRows rows_;
  Qint8DepthwiseFunction function_ = qint8_depthwise_function();
  std::int64_t positions_;  // of one image of the output
  std::int64_t taps_;       // kernel positions, padded
  std::int64_t block_;      // positions of a task
  bool flip_ = false;
  std::uint8_t zero_byte_ = 0;
};

Applicability applicable(const Problem& problem) {
  const Shape& w = problem.inputs[1].shape;
  if (w[1] != 1 || w[0] != problem.params.integer("group", 1))
    return Applicability::no("needs one input and one output channel per group (depthwise)");
  if (round_up(w.elements(2, w.rank()), kDepthwiseTaps) > kPointers)
    return Applicability::no("the kernel has too many elements");
  if (const auto geometry = conv_geometry(problem); !geometry.ok())
    return Applicability::no(geometry.status().message());
  return takes_quantized_weights(problem);
}

std::size_t packed_bytes(const Problem& problem) {
  return static_cast<std::size_t>(DepthwiseParts(*conv_geometry(problem)).bytes);
}

Status pack(const Problem& problem, Allocator&, std::byte* packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
  const DepthwiseParts parts(g);
  SN_ASSIGN_OR_RETURN(const QuantizedWeights weights, quantize_weights(problem));
  const TensorScale x = tensor_scale(problem.inputs[0]);
  std::memset(packed, 0, static_cast<std::size_t>(parts.bytes));
  for (std::int64_t c = 0; c < g.channels_out(); ++c) {
    const std::int8_t* row = weights.values.data() + c * weights.depth;
    const auto i = static_cast<std::size_t>(c);
    const std::int64_t block = c / kDepthwiseBlock * kDepthwiseBlock;
    auto* w = reinterpret_cast<std::int8_t*>(packed + parts.weights) + block * parts.taps +
              kDepthwiseTaps * depthwise_lane(c % kDepthwiseBlock);
    std::int32_t sum = 0;
    for (std::int64_t t = 0; t < weights.depth; ++t) {
      sum += row[t];
      w[t / kDepthwiseTaps * kDepthwiseTaps * kDepthwiseBlock + t % kDepthwiseTaps] = row[t];
    }
    const std::int64_t at = table_place(c);
    reinterpret_cast<std::int32_t*>(packed)[at] = -x.unsigned_zero_point() * sum;
    reinterpret_cast<float*>(packed + parts.scale)[at] = x.scale * weights.scales[i];
    reinterpret_cast<float*>(packed + parts.bias)[at] = weights.bias[i];
  }
  return {};
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights& packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  SN_ASSIGN_OR_RETURN(QuantizedEpilogue epilogue, QuantizedEpilogue::create(problem, false));
  return make_kernel<QuantizedDepthwiseKernel>(problem, context.threads(), geometry, packed.bytes,
                                               std::move(epilogue));
}

}  // namespace

Status register_routine_conv2_cpu_qint8_depthwise(Registry& registry) {
  RoutineFunctions functions = quantized_layer();
  functions.facts.default_rank = 20;
  functions.applicable = applicable;
  functions.packed_bytes = packed_bytes;
  functions.pack = pack;
  functions.create_with = create;
  return add_routines(registry, {"conv1", "conv2", "conv3"}, {"cpu:qint8:nhwc"}, "depthwise",
                      functions);
}

}  // namespace softneuro
