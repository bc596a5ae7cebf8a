// dense cpu:qint8/gemm: rows of the input by panels of weights, integers exact, float32 or qint8
// out; cpu/qint8/product.h.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/qint8/product.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPointers = 64;       // rows of a block, at most
constexpr std::int64_t kTaskWork = 1 << 22;  // products of a task, at most

ProductSizes sizes_of(const Problem& problem) {
  const DenseSizes dense(problem);
  ProductSizes sizes;
  sizes.outputs = dense.columns;
  sizes.depth = dense.depth;
  return sizes;
}

class QuantizedDenseKernel final : public Kernel {
 public:
  QuantizedDenseKernel(const Problem& problem, int threads, const ProductSizes& sizes,
                       QuantizedProduct product)
      : product_(std::move(product)), sizes_(sizes) {
    rows_ = DenseSizes(problem).rows;
    padded_ = round_up(sizes.depth, 4);
    block_rows_ = std::min({product_.max_rows(), kPointers, std::max<std::int64_t>(rows_, 1)});
    const std::int64_t depth = std::max<std::int64_t>(sizes.depth, 1);
    const std::int64_t work = task_operations(rows_ * sizes.outputs * depth, kTaskWork, threads);
    panels_ = std::clamp<std::int64_t>(work / (block_rows_ * kInt8Panel * depth), 1,
                                       std::max<std::int64_t>(product_.max_panels(), 1));
  }

  // Rows whose length is no multiple of four are copied, so that none is read beyond its end.
  std::size_t workspace_bytes() const noexcept override {
    return padded_ == sizes_.depth ? 0 : static_cast<std::size_t>(rows_ * padded_);
  }

  Status run(Context& context) const noexcept override {
    const auto* x = context.input(0).as<std::uint8_t>();
    if (padded_ != sizes_.depth) {
      auto* copy = reinterpret_cast<std::uint8_t*>(context.workspace());
      parallel_ranges(context.pool(), rows_, 16, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r) {
          std::memset(copy + (r + 1) * padded_ - 4, 0, 4);
          std::memcpy(copy + r * padded_, x + r * sizes_.depth,
                      static_cast<std::size_t>(sizes_.depth));
        }
      });
      x = copy;
    }
    const std::int64_t blocks = (rows_ + block_rows_ - 1) / block_rows_;
    const std::int64_t chunks = (sizes_.panels() + panels_ - 1) / panels_;
    parallel_for(context.pool(), blocks * chunks, [&](std::int64_t i) {
      const std::uint8_t* rows[kPointers];
      ProductBlock block;
      block.rows = rows;
      block.first_row = i / chunks * block_rows_;
      block.row_count = std::min(block_rows_, rows_ - block.first_row);
      block.first_panel = i % chunks * panels_;
      block.panels = std::min(panels_, sizes_.panels() - block.first_panel);
      for (std::int64_t r = 0; r < block.row_count; ++r)
        rows[r] = x + (block.first_row + r) * padded_;
      product_.run(context, block);
    });
    return {};
  }

 private:
  QuantizedProduct product_;
  ProductSizes sizes_;
  std::int64_t rows_ = 0, padded_ = 0;
  std::int64_t block_rows_ = 1, panels_ = 1;  // of a task
};

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights& packed) {
  const ProductSizes sizes = sizes_of(problem);
  SN_ASSIGN_OR_RETURN(QuantizedProduct product, QuantizedProduct::create(problem, sizes, packed));
  return make_kernel<QuantizedDenseKernel>(problem, context.threads(), sizes, std::move(product));
}

}  // namespace

Status register_routine_dense_cpu_qint8_gemm(Registry& registry) {
  RoutineFunctions functions = quantized_layer();
  functions.facts.default_rank = 10;
  functions.packed_bytes = [](const Problem& problem) {
    return QuantizedProduct::packed_bytes(sizes_of(problem));
  };
  functions.pack = [](const Problem& problem, Allocator&, std::byte* packed) {
    return QuantizedProduct::pack(problem, sizes_of(problem), 1, packed);
  };
  functions.create_with = create;
  return add_routines(registry, {"dense"}, {"cpu:qint8"}, "gemm", functions);
}

}  // namespace softneuro
