#include "plugins/partition/chunks.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cpu/tensor/memory_order.h"

namespace softneuro {

std::int64_t chunk_count(int threads, std::int64_t elements) {
  constexpr std::int64_t kChunkElements = 8192;
  return std::clamp<std::int64_t>(elements / kChunkElements, 1, threads);
}

Applicability has_work(const Problem& problem) {
  if (problem.inputs[0].shape.elements() == 0 || problem.outputs[0].shape.elements() == 0)
    return Applicability::no("there is nothing to compute");
  const auto fits = [](const TensorSpec& spec) {
    return spec.layout == Layout::plain || spec.shape.rank() >= 3;
  };
  return std::all_of(problem.inputs.begin(), problem.inputs.end(), fits) &&
                 std::all_of(problem.outputs.begin(), problem.outputs.end(), fits)
             ? Applicability::yes()
             : Applicability::no("the layout needs more dimensions");
}

std::optional<Shape> dims_opposite(const TensorSpec& operand, const TensorSpec& y) {
  const int rank = y.shape.rank(), missing = rank - operand.shape.rank();
  if (operand.layout == y.layout && missing == 0) return stored_shape(operand.shape, y.layout);
  if (operand.layout != Layout::plain || missing < 0) return std::nullopt;
  Shape dims = y.shape;
  for (int d = 0; d < rank; ++d) dims[d] = 1;
  int extended = 0;
  for (int d = 0; d < operand.shape.rank(); ++d) {
    if (operand.shape[d] == 1) continue;
    dims[stored_axis(d + missing, rank, y.layout)] = operand.shape[d];
    ++extended;
  }
  if (y.layout != Layout::plain && extended > 1) return std::nullopt;
  return dims;
}

Result<std::int64_t> columns_along_axis(const Problem& problem) {
  const TensorSpec& x = problem.inputs[0];
  const int rank = x.shape.rank();
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), rank));
  const Shape stored = stored_shape(x.shape, x.layout);
  const int at = stored_axis(axis, rank, x.layout);
  if (stored.elements(at + 1, stored.rank()) != 1)
    return unsupported("the axis is not the last one in memory");
  return stored[at];
}

void spread_nan(float* y, std::int64_t rows, std::int64_t columns, bool infinite) noexcept {
  const std::uint32_t above = infinite ? 0x7f7fffffu : 0x7f800000u;
  for (std::int64_t r = 0; r < rows; ++r, y += columns) {
    int count = 0;  // in integers, which compilers make vectors of
    for (std::int64_t c = 0; c < columns; ++c)
      count += (std::bit_cast<std::uint32_t>(y[c]) & 0x7fffffffu) > above;
    if (count > 0) std::fill_n(y, columns, std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace softneuro
