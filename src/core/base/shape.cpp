#include "softneuro/shape.h"

#include <algorithm>

namespace softneuro {

Shape::Shape(std::span<const std::int64_t> dims) noexcept
    : rank_(static_cast<std::uint8_t>(std::min<std::size_t>(dims.size(), kMaxRank))) {
  std::copy_n(dims.begin(), rank_, dims_.begin());
}

void Shape::push_back(std::int64_t dim) noexcept {
  if (rank_ < kMaxRank) dims_[rank_++] = dim;
}

std::int64_t Shape::elements() const noexcept {
  return elements(0, rank_);
}

std::int64_t Shape::elements(int first, int last) const noexcept {
  // A zero anywhere makes the product zero even if the other factors would overflow.
  bool zero = false;
  bool overflow = false;
  std::int64_t product = 1;
  for (int i = first; i < last; ++i) {
    if (dims_[static_cast<std::size_t>(i)] < 0) return -1;
    if (dims_[static_cast<std::size_t>(i)] == 0)
      zero = true;
    else if (__builtin_mul_overflow(product, dims_[static_cast<std::size_t>(i)], &product))
      overflow = true;
  }
  return zero ? 0 : overflow ? -1 : product;
}

bool Shape::operator==(const Shape& other) const noexcept {
  return std::equal(dims().begin(), dims().end(), other.dims().begin(), other.dims().end());
}

std::string Shape::str() const {
  if (rank_ == 0) return "scalar";
  std::string text;
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += 'x';
    text += std::to_string((*this)[i]);
  }
  return text;
}

DynamicShape::DynamicShape(const Shape& shape)
    : ranked_(true), dims_(shape.dims().begin(), shape.dims().end()) {}

bool DynamicShape::is_static() const noexcept {
  return ranked_ && std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.known(); });
}

Shape DynamicShape::to_shape() const noexcept {
  Shape shape;
  for (const Dim& dim : dims_) shape.push_back(dim.value);
  return shape;
}

std::string DynamicShape::str() const {
  if (!ranked_) return "unknown";
  if (dims_.empty()) return "scalar";
  std::string text;
  for (const Dim& dim : dims_) {
    if (!text.empty()) text += 'x';
    text += dim.known() ? std::to_string(dim.value) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text;
}

}  // namespace softneuro
