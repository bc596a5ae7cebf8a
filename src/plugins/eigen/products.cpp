#include "plugins/eigen/products.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "core/base/parallel.h"

namespace softneuro {

SN_CHOOSE_VARIANT(EigenOps, kEigenOps, eigen_ops)

namespace eigen {

Products::Products(const EigenProduct& product, std::vector<Places> places, int threads)
    : product_(product), places_(std::move(places)) {
  constexpr std::int64_t kWork = 1 << 16;  // multiplications that are worth a thread's while
  const auto count = static_cast<std::int64_t>(places_.size());
  const std::int64_t of_one = product.rows * product.depth * product.columns;
  const std::int64_t wanted = std::clamp<std::int64_t>(count * of_one / kWork, 1, threads);
  if (count >= wanted) {
    for (std::int64_t i = 0; i < wanted; ++i)
      add_chunk({count * i / wanted, count * (i + 1) / wanted, 0, product.rows});
    return;
  }
  const std::int64_t parts = std::min(product.rows, (wanted + count - 1) / count);
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t row = product.rows * i / parts;
      add_chunk({m, m + 1, row, product.rows * (i + 1) / parts - row});
    }
}

void Products::add_chunk(Chunk chunk) {
  const std::int64_t floats = eigen_ops().workspace(chunk.rows, product_.depth, product_.columns);
  chunk.workspace_at = workspace_;
  workspace_ += aligned_floats(floats);
  chunks_.push_back(chunk);
}

void Products::run(const Workers& workers, const float* a, const float* b, float* y,
                   float* workspace) const noexcept {
  const EigenOps& ops = eigen_ops();
  parallel_for(workers, static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t index) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(index)];
    EigenProduct product = product_;
    product.rows = chunk.rows;
    for (std::int64_t m = chunk.first; m < chunk.last; ++m) {
      const Places& place = places_[static_cast<std::size_t>(m)];
      const std::int64_t row_step = product.a_transposed ? 1 : product.a_stride;
      ops.multiply(product, a + place.a + chunk.row * row_step, b + place.b,
                   y + place.y + chunk.row * product.y_stride, workspace + chunk.workspace_at);
    }
  });
}

}  // namespace eigen
}  // namespace softneuro
