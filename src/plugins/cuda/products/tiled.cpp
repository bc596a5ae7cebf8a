// dense and matmul cuda/tiled: products of tiles in shared memory, sums in float32. Of any strides
// and batches; the results are the same on every GPU.
#include <fmt/format.h>

#include "core/base/error.h"
#include "cpu/gemm/matmul_geometry.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/generate/tail.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

constexpr std::int64_t kTile = 64;      // rows and columns of the result that a block computes
constexpr unsigned kThreads = 16 * 16;  // each has 4 × 4 of these

// `kReads…` tells along which of its two axes neighbouring threads read an operand.
constexpr const char* kBody = R"(
  constexpr int T = 64, D = 16;
  __shared__ float a_tile[D][T + 4], b_tile[D][T + 4];
  const Index by_column = quotient((Index)blockIdx.x, {column_tiles});
  const Index batch = quotient(by_column, {row_tiles});
  const long long column = (long long)(blockIdx.x - by_column * (Index){column_tiles}.size) * T;
  const long long row = (long long)(by_column - batch * (Index){row_tiles}.size) * T;
  const auto* const a = {a} + at(batch, {a_batch});
  const auto* const b = {b} + at(batch, {b_batch});
  const long long rows = {rows}, columns = {columns}, depth = {depth};
  const int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4;
  float sums[4][4] = {{}};
  for (long long d = 0; d < depth; d += D) {{
    for (int e = t; e < T * D; e += 256) {{
      const int r = A_ALONG_DEPTH ? e / D : e % T, k = A_ALONG_DEPTH ? e % D : e / T;
      a_tile[k][r] = row + r < rows && d + k < depth
          ? get(a[(row + r) * {a_row} + (d + k) * {a_column}]) : 0.0f;
    }}
    for (int e = t; e < T * D; e += 256) {{
      const int c = B_ALONG_DEPTH ? e / D : e % T, k = B_ALONG_DEPTH ? e % D : e / T;
      b_tile[k][c] = column + c < columns && d + k < depth
          ? get(b[(d + k) * {b_row} + (column + c) * {b_column}]) : 0.0f;
    }}
    __syncthreads();
    for (int k = 0; k < D; ++k) {{
      for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q)
          sums[p][q] = fmaf(a_tile[k][y + p], b_tile[k][x + q], sums[p][q]);
    }}
    __syncthreads();
  }}
  for (int p = 0; p < 4; ++p) {{
    for (int q = 0; q < 4; ++q) {{
      if (row + y + p >= rows || column + x + q >= columns) continue;
      const Index i = (batch * (Index)rows + (Index)(row + y + p)) * (Index)columns +
          (Index)(column + x + q);
      float y = sums[p][q]{bias};
      {tail}
      put({result}[i], y);
    }}
  }}
)";

std::vector<std::int64_t> list_of(const Shape& shape) {
  std::vector<std::int64_t> list;
  list.reserve(static_cast<std::size_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) list.push_back(shape[d]);
  return list;
}

// Operands are inputs 0 and 1; `has_bias`: input 2 is added to each row.
Result<Program> product(const Problem& problem, const MatmulGeometry& g, bool has_bias) {
  for (std::size_t i = 0; i < problem.layer_inputs; ++i)
    if (problem.has_input(i) && !is_narrow_float(problem.inputs[i].type))
      return unsupported("operands must be of real numbers of 16 or 32 bits");
  const std::int64_t column_tiles = (g.columns + kTile - 1) / kTile;
  const std::int64_t row_tiles = (g.rows + kTile - 1) / kTile;
  KernelSource source(problem.outputs[0].shape.elements());
  const std::vector<std::int64_t> batch = list_of(g.batch);
  const auto text = [&](std::int64_t value) { return source.integer(value); };
  const std::string bias =
      has_bias ? fmt::format(" + get({}[column + x + q])", source.input(problem, 2)) : "";
  SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem, problem.post_ops));
  std::string body = fmt::format("constexpr bool A_ALONG_DEPTH = {}, B_ALONG_DEPTH = {};\n",
                                 g.a_column == 1, g.b_row == 1);
  body +=
      fmt::format(kBody, fmt::arg("column_tiles", source.divisor(column_tiles)),
                  fmt::arg("row_tiles", source.divisor(row_tiles)),
                  fmt::arg("a", source.input(problem, 0)), fmt::arg("b", source.input(problem, 1)),
                  fmt::arg("a_batch", source.walk(batch, list_of(g.a_batch))),
                  fmt::arg("b_batch", source.walk(batch, list_of(g.b_batch))),
                  fmt::arg("rows", text(g.rows)), fmt::arg("columns", text(g.columns)),
                  fmt::arg("depth", text(g.depth)), fmt::arg("a_row", text(g.a_row)),
                  fmt::arg("a_column", text(g.a_column)), fmt::arg("b_row", text(g.b_row)),
                  fmt::arg("b_column", text(g.b_column)), fmt::arg("bias", bias),
                  fmt::arg("tail", functions), fmt::arg("result", source.output(problem, 0)));
  Program program;
  program.launches.push_back(source.launch(body, g.batches() * row_tiles * column_tiles, kThreads));
  return program;
}

Result<Program> matmul(const Problem& problem) {
  return product(problem, join_batches(matmul_geometry(problem)), false);
}

Result<Program> dense(const Problem& problem) {
  const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape;
  const bool is_transposed = problem.params.integer("transpose_weights") != 0;
  MatmulGeometry g;
  g.rows = x.elements(0, x.rank() - 1);
  g.depth = w[is_transposed ? 1 : 0];
  g.columns = w[is_transposed ? 0 : 1];
  g.a_row = g.depth;
  g.a_column = 1;
  g.b_row = is_transposed ? 1 : g.columns;
  g.b_column = is_transposed ? g.depth : 1;
  return product(problem, g, problem.has_input(2));
}

}  // namespace

Status register_tiled_products(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"matmul", "tiled", &matmul}, kPlainSchemas));
  return add_generated(registry, device, {"dense", "tiled", &dense}, kPlainSchemas);
}

}  // namespace softneuro::cuda
