// conv_transpose1, conv_transpose2, conv_transpose3 cpu/gemm: weightsᵀ[M·kernel, C] · x[C, input
// positions] for each image and group, a chunk of output channels at a time; then col2im: each
// output plane gathers its rows of the product where they belong. float16 and bfloat16 tensors are
// converted at the borders.
#include <algorithm>

#include "routines/conv2/gemm_conv.h"
#include "routines/conv_transpose2/col2im.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunkFloats = 512 * 1024;  // of the product: 2 MiB

class ConvTransposeKernel final : public GemmConvKernel {
 public:
  ConvTransposeKernel(const Problem& problem, const ConvGeometry& geometry,
                      const PackedWeights& packed, PostOpProgram post_ops)
      : GemmConvKernel(problem, geometry, true, packed, std::move(post_ops)), g_(geometry) {
    const std::int64_t channel = g_.window.kernel_elements() * inputs();
    chunk_ = std::clamp<std::int64_t>(kChunkFloats / std::max<std::int64_t>(channel, 1), 1,
                                      std::max<std::int64_t>(g_.out, 1));
    product_at_ = reserve(chunk_ * channel);
    b_at_ = reserve(packed_b_floats(g_.in, inputs()));
  }

  Status run(Context& context) const noexcept override {
    const Operands operands = {input(context, kX),
                               weights(context),
                               bias(context),
                               output(context),
                               workspace_of(context) + b_at_,
                               workspace_of(context) + product_at_};
    for (std::int64_t slice = 0; slice < g_.batch * g_.group; ++slice) {
      pack_input(context, operands, slice);
      for (std::int64_t m = 0; m < g_.out; m += chunk_) {
        const std::int64_t channels = std::min(chunk_, g_.out - m);
        multiply(context, operands, slice, m, channels);
        parallel_for(context.pool(), channels, [&](std::int64_t c) {
          finish_plane(context, operands, slice, m + c,
                       operands.product + c * g_.window.kernel_elements() * inputs());
        });
      }
    }
    return {};
  }

 private:
  // All in float32.
  struct Operands {
    const float* x;
    const float* weights;  // packed
    const float* bias;     // may be null
    float* y;
    float* b;        // x of one slice, packed
    float* product;  // of a chunk of output channels
  };

  std::int64_t inputs() const noexcept { return g_.window.input_elements(); }

  void pack_input(Context& context, const Operands& operands, std::int64_t slice) const noexcept {
    const float* const x = operands.x + slice * g_.in * inputs();
    parallel_for(context.pool(), chunks_of(inputs(), kGemmTileColumns), [&](std::int64_t i) {
      const std::int64_t column = i * kGemmTileColumns;
      pack_b({x + column, inputs(), 1}, g_.in, std::min(kGemmTileColumns, inputs() - column),
             operands.b + column * g_.in);
    });
  }

  // Rows of `channels` output channels from `m` on. The first need not begin a panel of A: the
  // product then starts with the panel's earlier rows, which are not read.
  void multiply(Context& context, const Operands& operands, std::int64_t slice, std::int64_t m,
                std::int64_t channels) const noexcept {
    const std::int64_t kernel = g_.window.kernel_elements();
    const std::int64_t first = m * kernel, count = channels * kernel;
    const float* const a = operands.weights + slice % g_.group * group_floats();
    const std::int64_t row_tiles = chunks_of(first % kGemmRows + count, kGemmTileRows);
    const std::int64_t column_tiles = chunks_of(inputs(), kGemmTileColumns);
    parallel_for(context.pool(), row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t column = i / row_tiles * kGemmTileColumns;
      const std::int64_t begin = first - first % kGemmRows + i % row_tiles * kGemmTileRows;
      multiply_rows(operands, a, begin, std::min(begin + kGemmTileRows, first + count), first,
                    column);
    });
  }

  // Rows [begin, end) of the product, those below `first` apart; `begin` begins a panel.
  void multiply_rows(const Operands& operands, const float* a, std::int64_t begin, std::int64_t end,
                     std::int64_t first, std::int64_t column) const noexcept {
    GemmTask task;
    task.n = std::min(kGemmTileColumns, inputs() - column);
    task.k = g_.in;
    task.b = operands.b + column * g_.in;
    if (begin < first) {
      // The panel that this chunk shares with the one before: its other rows go nowhere.
      float buffer[kGemmRows * kGemmTileColumns];
      task.m = std::min(kGemmRows, end - begin);
      task.a = a + begin * g_.in;
      task.c = buffer;
      task.c_row_stride = kGemmTileColumns;
      gemm(task);
      for (std::int64_t r = first; r < begin + task.m; ++r)
        std::copy_n(buffer + (r - begin) * kGemmTileColumns, task.n,
                    operands.product + (r - first) * inputs() + column);
      begin += kGemmRows;
    }
    if (begin >= end) return;
    task.m = end - begin;
    task.a = a + begin * g_.in;
    task.c = operands.product + (begin - first) * inputs() + column;
    task.c_row_stride = inputs();
    gemm(task);
  }

  void finish_plane(Context& context, const Operands& operands, std::int64_t slice, std::int64_t m,
                    const float* product) const noexcept {
    const std::int64_t outputs = g_.window.output_elements();
    const std::int64_t offset = (slice * g_.out + m) * outputs;
    const std::int64_t channel = slice % g_.group * g_.out + m;
    float* const y = operands.y + offset;
    std::fill_n(y, outputs, operands.bias == nullptr ? 0.0f : operands.bias[channel]);
    col2im(g_.window, product, y);
    finish(context, operands.y, offset, 1, outputs, outputs);
  }

  ConvGeometry g_;
  std::int64_t chunk_ = 1;  // output channels at a time
  std::int64_t product_at_ = 0, b_at_ = 0;
};

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext&,
                                       const PackedWeights& packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, transposed_conv_geometry(problem));
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<ConvTransposeKernel>(problem, geometry, packed, std::move(post_ops));
}

}  // namespace

Status register_routine_conv_transpose2_cpu_gemm(Registry& registry) {
  RoutineFunctions functions = gemm_conv<true>();
  functions.create_with = create;
  return add_routines(registry, {"conv_transpose1", "conv_transpose2", "conv_transpose3"}, {"cpu"},
                      "gemm", functions);
}

}  // namespace softneuro
