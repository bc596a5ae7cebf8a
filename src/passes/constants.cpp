#include "passes/constants.h"

#include <algorithm>
#include <cmath>

namespace softneuro {

std::optional<double> scalar_of(const Graph& graph, TensorId id) {
  if (!graph.is_constant(id)) return std::nullopt;
  const Tensor& value = graph.tensor(id).constant;
  if (value.elements() != 1 || value.data_type() == DataType::qint8) return std::nullopt;
  return load(view_of(value), 0);
}

bool all_finite(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  const std::int64_t count = view.elements();
  return dispatch(view.type, true, [&](auto tag) {
    const auto* const values = view.as<decltype(tag)>();
    return std::all_of(values, values + count,
                       [](auto value) { return std::isfinite(to_double(value)); });
  });
}

std::optional<std::vector<double>> values_along(const Tensor& tensor, int rank, int axis,
                                                std::int64_t count) {
  const Shape& shape = tensor.shape();
  if (shape.rank() > rank || count < 0) return std::nullopt;
  const int tensor_axis = axis - (rank - shape.rank());
  for (int i = 0; i < shape.rank(); ++i)
    if (i != tensor_axis && shape[i] != 1) return std::nullopt;
  const std::int64_t length = tensor_axis < 0 ? 1 : shape[tensor_axis];
  if (length != 1 && length != count) return std::nullopt;
  const TensorView view = view_of(tensor);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load(view, length == 1 ? 0 : static_cast<std::int64_t>(i));
  return values;
}

std::optional<std::vector<double>> vector_of(const Graph& graph, TensorId id, std::int64_t count) {
  if (!graph.is_constant(id)) return std::nullopt;
  return values_along(graph.tensor(id).constant, 1, 0, count);
}

Result<Tensor> make_vector(DataType type, const std::vector<double>& values, Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(
      Tensor tensor,
      Tensor::create(type, Shape{static_cast<std::int64_t>(values.size())}, allocator));
  const TensorView view = view_of(tensor);
  for (std::size_t i = 0; i < values.size(); ++i)
    store(view, static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

Result<Tensor> make_integers(const std::vector<std::int64_t>& values, Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(
      Tensor tensor,
      Tensor::create(DataType::int64, Shape{static_cast<std::int64_t>(values.size())}, allocator));
  const auto to = tensor.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) to[i] = values[i];
  return tensor;
}

}  // namespace softneuro
