#include "cpu/gemm/matmul_geometry.h"

#include <algorithm>

#include "core/base/element.h"

namespace softneuro {
namespace {

// The axes before the last two; none for vectors.
Shape batch_axes(const Shape& shape) noexcept {
  return Shape(shape.dims().first(static_cast<std::size_t>(std::max(shape.rank() - 2, 0))));
}

// Elements to step per axis of `batch` in an operand of shape `shape`.
Shape batch_steps(const Shape& shape, const Shape& batch) noexcept {
  const Shape axes = batch_axes(shape);
  Shape steps = broadcast_strides(axes, batch);
  const std::int64_t matrix = shape.elements(axes.rank(), shape.rank());
  for (int i = 0; i < steps.rank(); ++i) steps[i] *= matrix;
  return steps;
}

}  // namespace

std::int64_t MatmulGeometry::offset(std::int64_t index, const Shape& steps) const noexcept {
  std::int64_t result = 0;
  for (int i = batch.rank() - 1; i >= 0; --i) {
    result += index % batch[i] * steps[i];
    index /= batch[i];
  }
  return result;
}

MatmulGeometry matmul_geometry(const Problem& problem) noexcept {
  const Shape& a = problem.inputs[0].shape;
  const Shape& b = problem.inputs[1].shape;
  const Shape& y = problem.outputs[0].shape;
  MatmulGeometry g;
  if (a.rank() == 1) {
    g.depth = a[0];
    g.a_column = 1;
  } else {
    const bool swap = problem.params.integer("transpose_a") != 0;
    const std::int64_t rows = a[a.rank() - 2], columns = a[a.rank() - 1];
    g.rows = swap ? columns : rows;
    g.depth = swap ? rows : columns;
    g.a_row = swap ? 1 : columns;
    g.a_column = swap ? columns : 1;
  }
  if (b.rank() == 1) {
    g.b_row = 1;
  } else {
    const bool swap = problem.params.integer("transpose_b") != 0;
    const std::int64_t rows = b[b.rank() - 2], columns = b[b.rank() - 1];
    g.columns = swap ? rows : columns;
    g.b_row = swap ? 1 : columns;
    g.b_column = swap ? columns : 1;
  }
  const int matrix_axes = (a.rank() > 1 ? 1 : 0) + (b.rank() > 1 ? 1 : 0);
  g.batch = Shape(y.dims().first(static_cast<std::size_t>(y.rank() - matrix_axes)));
  g.a_batch = batch_steps(a, g.batch);
  g.b_batch = batch_steps(b, g.batch);
  return g;
}

MatmulGeometry join_batches(MatmulGeometry g) noexcept {
  if (g.batch.rank() == 0 || g.rows == 0 || g.batches() < 1 || g.a_column != 1) return g;
  const Shape steps = strides_of(g.batch);
  for (int i = 0; i < g.batch.rank(); ++i)
    if (g.batch[i] > 1 && (g.b_batch[i] != 0 || g.a_batch[i] != steps[i] * g.rows * g.a_row))
      return g;
  g.rows *= g.batches();
  g.batch = g.a_batch = g.b_batch = Shape();
  return g;
}

}  // namespace softneuro
