// Tensors of indices: reading them, and checking them against the axis that they index.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/base/tensor_view.h"

namespace softneuro {

// The elements of an int32 or int64 tensor. (Shape inference refuses other types.)
class IndexReader {
 public:
  explicit IndexReader(const TensorView& view) noexcept
      : data_(view.data), wide_(view.type == DataType::int64) {}
  std::int64_t operator[](std::int64_t i) const noexcept {
    return wide_ ? static_cast<const std::int64_t*>(data_)[i]
                 : static_cast<const std::int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  bool wide_;
};

// Whether `index` names an element of an axis of `dim` elements; negative ones count from the end.
inline bool is_index(std::int64_t index, std::int64_t dim) noexcept {
  return index >= -dim && index < dim;
}
// Precondition: is_index.
inline std::int64_t wrap_index(std::int64_t index, std::int64_t dim) noexcept {
  return index < 0 ? index + dim : index;
}
inline Status index_error(std::int64_t index, std::int64_t position, std::int64_t dim) {
  return invalid_argument("indices[{}] is {}, but the axis that it indexes has {} elements",
                          position, index, dim);
}
// Every element of `indices` must name an element of an axis of `dim` elements.
inline Status check_indices(const TensorView& indices, std::int64_t dim) {
  const IndexReader reader(indices);
  const std::int64_t count = indices.elements();
  for (std::int64_t i = 0; i < count; ++i)
    if (!is_index(reader[i], dim)) return index_error(reader[i], i, dim);
  return {};
}

// The multi-index of the element that is number `position` in row-major order.
inline Shape index_at(std::int64_t position, const Shape& shape) noexcept {
  Shape index = shape;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = position % shape[i];
    position /= shape[i];
  }
  return index;
}

}  // namespace softneuro
