// Products on tiles of bfloat16 are as exact as those of float32, and write what is theirs alone:
// the numeric tests' tolerance would not see a product of parts that is left out.
#include "cpu/gemm/split_precision_gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace softneuro {
namespace {

class Operands final : public GemmOperands<float> {
 public:
  Operands(const std::vector<float>& a, std::int64_t depth, const std::byte* b)
      : a_(a), depth_(depth), b_(b) {}
  GemmMatrix matrix(std::int64_t) const noexcept override { return {b_, nullptr, 0}; }
  void point(const GemmRows& rows, const float** pointers, float*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = a_.data() + (rows.row + r) * depth_;
  }

 private:
  const std::vector<float>& a_;
  std::int64_t depth_;
  const std::byte* b_;
};

struct Product {
  std::int64_t rows, depth, columns;
  std::vector<float> a, b, c;

  Product(std::int64_t m, std::int64_t k, std::int64_t n)
      : rows(m), depth(k), columns(n), a(size(m * k)), b(size(k * n)), c(size(m * n) + 1, NAN) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (float& value : a) value = numbers(random);
    for (float& value : b) value = numbers(random);
  }
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  void multiply(const SplitTileOps<float>& ops, int threads, std::int64_t cache_bytes) {
    std::fill(c.begin(), c.end(), NAN);
    GemmShape shape;
    shape.rows = rows;
    shape.columns = columns;
    shape.length = depth;
    shape.c_row_stride = columns;
    std::vector<std::byte> packed(size(product_bytes(shape, ops)) + 64);
    auto* const aligned = packed.data() + 64 - reinterpret_cast<std::uintptr_t>(packed.data()) % 64;
    std::vector<float> panel(size(depth * kTilePanel));
    pack_product(
        shape, ops,
        [&](std::int64_t first, std::int64_t count, float* to) {
          for (std::int64_t k = 0; k < depth; ++k)
            for (std::int64_t j = 0; j < count; ++j)
              to[k * kTilePanel + j] = b[size(k * columns + first + j)];
        },
        panel.data(), aligned);
    const SplitPrecisionGemm<float> gemm(shape, {cache_bytes, 1, threads}, ops);
    std::vector<float> workspace(size(gemm.workspace_floats()) + 16);
    auto* const slots =
        workspace.data() + 16 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64 / 4;
    const auto pool = create_thread_pool(threads).value();
    gemm.run(*pool, {}, c.data(), Operands(a, depth, aligned), EpiloguePostOps(), slots);
  }
  // The largest difference from the exact sum, as a share of the products' magnitudes.
  double error() const {
    double worst = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double exact = 0, magnitude = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const double product = static_cast<double>(a[size(i * depth + k)]) *
                                 static_cast<double>(b[size(k * columns + j)]);
          exact += product;
          magnitude += std::abs(product);
        }
        worst = std::max(
            worst, std::abs(static_cast<double>(c[size(i * columns + j)]) - exact) / magnitude);
      }
    return worst;
  }
};

const SplitTileOps<float>* ops_or_skip() {
  const auto* const ops = split_tile_ops<float>();
  if (ops != nullptr && usable_features().has(ops->needs)) return ops;
  WARN("skipped: this processor, or this build, has no tiles of bfloat16");
  return nullptr;
}

TEST_CASE("single products on split tiles are those of float32 but for their last bits") {
  const auto* const ops = ops_or_skip();
  if (ops == nullptr) return;
  Product product(48, 1, 160);
  product.multiply(*ops, 1, 1 << 20);
  CHECK(product.error() < std::exp2(-22));
}

TEST_CASE("split tiles take the largest numbers and keep NaN") {
  const auto* const ops = ops_or_skip();
  if (ops == nullptr) return;
  constexpr float kMost = std::numeric_limits<float>::max();
  Product product(2, 32, 1);
  std::fill(product.a.begin(), product.a.end(), 0.0f);
  std::fill(product.b.begin(), product.b.end(), 1.0f);
  product.a[3] = -kMost;
  product.a[32 + 5] = NAN;
  product.multiply(*ops, 1, 1 << 20);
  CHECK(product.c[0] == -kMost);
  CHECK(std::isnan(product.c[1]));
  product.b[3] = 0.0f;
  product.multiply(*ops, 1, 1 << 20);
  CHECK(product.c[0] == 0.0f);
}

TEST_CASE(
    "sums on split tiles are those of float32, however they are partitioned, around tiles' edges") {
  const auto* const ops = ops_or_skip();
  if (ops == nullptr) return;
  for (const std::int64_t rows : {1, 15, 17, 33, 300})
    for (const std::int64_t columns : {1, 16, 31, 49})
      for (const std::int64_t depth : {3, 32, 129, 400}) {
        CAPTURE(rows, columns, depth);
        Product product(rows, depth, columns);
        product.multiply(*ops, 1, 1 << 20);
        CHECK(product.error() < std::exp2(-20));
        CHECK(std::isnan(product.c.back()));
        std::vector<float> once = product.c;
        product.multiply(*ops, 4, 1024);
        CHECK(std::isnan(product.c.back()));
        product.c.back() = once.back() = 0;
        CHECK(product.c == once);  // every bit
      }
}

}  // namespace
}  // namespace softneuro
