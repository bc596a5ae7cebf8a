// A batch of products, partitioned into chunks for the pool.
#pragma once

#include <vector>

#include "core/base/workers.h"
#include "plugins/eigen/ops.h"

namespace softneuro::eigen {

// Rounded up to 64 bytes.
constexpr std::int64_t aligned_floats(std::int64_t count) noexcept {
  return (count + 15) / 16 * 16;
}

class Products {
 public:
  // Where the matrices of one product begin, in elements.
  struct Places {
    std::int64_t a = 0, b = 0, y = 0;
  };

  Products() = default;
  // `product` is each of them, partitioned for `threads`: by products where there are enough, else
  // by rows.
  Products(const EigenProduct& product, std::vector<Places> places, int threads);

  // Floats, to be aligned to 64 bytes.
  std::int64_t workspace() const noexcept { return workspace_; }
  void run(const Workers& workers, const float* a, const float* b, float* y,
           float* workspace) const noexcept;

 private:
  // Products [first, last), of each its rows [row, row + rows).
  struct Chunk {
    std::int64_t first = 0, last = 0, row = 0, rows = 0;
    std::int64_t workspace_at = 0;
  };

  void add_chunk(Chunk chunk);

  EigenProduct product_;
  std::vector<Places> places_;
  std::vector<Chunk> chunks_;
  std::int64_t workspace_ = 0;
};

}  // namespace softneuro::eigen
