#include "cpu/gemm/gemm.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace softneuro {
namespace {

struct Operands {
  std::int64_t m, n, k;
  std::vector<float> a, b, packed_a, packed_b, c;

  Operands(std::int64_t rows, std::int64_t columns, std::int64_t depth)
      : m(rows),
        n(columns),
        k(depth),
        a(static_cast<std::size_t>(m * k)),
        b(static_cast<std::size_t>(k * n)),
        packed_a(static_cast<std::size_t>(packed_a_floats(m, k)), NAN),
        packed_b(static_cast<std::size_t>(packed_b_floats(k, n)), NAN),
        c(static_cast<std::size_t>(m * n), NAN) {}

  void multiply(bool accumulate = false) {
    softneuro::pack_a({a.data(), k, 1}, m, k, packed_a.data());
    softneuro::pack_b({b.data(), n, 1}, k, n, packed_b.data());
    GemmTask task;
    task.m = m;
    task.n = n;
    task.k = k;
    task.a = packed_a.data();
    task.a_panel_stride = kGemmRows * k;
    task.b = packed_b.data();
    task.b_panel_stride = kGemmColumns * k;
    task.c = c.data();
    task.c_row_stride = n;
    task.accumulate = accumulate;
    gemm(task);
  }
};

TEST_CASE("gemm is exact on small integers around its tile edges") {
  std::mt19937 random(1);
  const auto fill = [&](std::vector<float>& values) {
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  };
  for (const std::int64_t m : {1, 2, 5, 6, 7, 12, 13})
    for (const std::int64_t n : {1, 3, 4, 8, 15, 16, 17, 40, 63, 64, 65, 130})
      for (const std::int64_t k : {0, 1, 2, 3, 7, 255, 256, 257, 600})
        for (const bool accumulate : {false, true}) {
          Operands o(m, n, k);
          fill(o.a);
          fill(o.b);
          if (accumulate) fill(o.c);
          const std::vector<float> before = o.c;
          o.multiply(accumulate);
          bool equal = true;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              const auto at = static_cast<std::size_t>(i * n + j);
              double sum = accumulate ? before[at] : 0;
              for (std::int64_t l = 0; l < k; ++l)
                sum += static_cast<double>(o.a[static_cast<std::size_t>(i * k + l)]) *
                       o.b[static_cast<std::size_t>(l * n + j)];
              equal = equal && o.c[at] == static_cast<float>(sum);
            }
          INFO("m=" << m << " n=" << n << " k=" << k << " accumulate=" << accumulate);
          CHECK(equal);
        }
}

TEST_CASE("gemm: equal rows and columns give equal bits wherever they stand") {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (const std::int64_t m : {1, 5, 13})
    for (const std::int64_t n : {40, 104, 131}) {
      Operands o(m, n, 700);
      for (std::int64_t l = 0; l < o.k; ++l) {
        const float a = normal(random), b = normal(random);
        for (std::int64_t i = 0; i < m; ++i) o.a[static_cast<std::size_t>(i * o.k + l)] = a;
        for (std::int64_t j = 0; j < n; ++j) o.b[static_cast<std::size_t>(l * n + j)] = b;
      }
      o.multiply();
      INFO("m=" << m << " n=" << n);
      CHECK(std::all_of(o.c.begin(), o.c.end(), [&](float c) { return c == o.c[0]; }));
    }
}

TEST_CASE("gemm reads a row-major B and a single row in place") {
  Operands o(1, 64, 300);
  std::mt19937 random(3);
  for (float& value : o.a) value = static_cast<float>(random() % 5);
  for (float& value : o.b) value = static_cast<float>(random() % 5);
  o.multiply();
  const std::vector<float> expected = o.c;
  GemmTask task;
  task.m = 1;
  task.n = o.n;
  task.k = o.k;
  task.a = o.a.data();
  task.a_column_stride = 1;
  task.b = o.b.data();
  task.b_row_stride = o.n;
  task.b_panel_stride = kGemmColumns;
  task.c = o.c.data();
  task.c_row_stride = o.n;
  gemm(task);
  CHECK(o.c == expected);
}

}  // namespace
}  // namespace softneuro
