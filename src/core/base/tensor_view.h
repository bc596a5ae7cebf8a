// TensorView: a tensor as a running kernel sees it. Plain data, owns nothing.
#pragma once

#include "softneuro/tensor.h"

namespace softneuro {

struct TensorView {
  DataType type = DataType::undefined;  // undefined: a left-out optional input or output
  Layout layout = Layout::plain;
  Shape shape;           // logical
  void* data = nullptr;  // never written through for inputs

  template <class T>
  const T* as() const noexcept {
    return static_cast<const T*>(data);
  }
  template <class T>
  T* as_mutable() const noexcept {
    return static_cast<T*>(data);
  }
  std::int64_t elements() const noexcept { return shape.elements(); }
  bool present() const noexcept { return type != DataType::undefined; }
};

// A tensor of uint8 with one dimension.
inline Result<Tensor> allocate_bytes(std::size_t bytes, Allocator& allocator) {
  return Tensor::create(DataType::uint8, Shape{static_cast<std::int64_t>(bytes)}, allocator);
}

// The bytes stay `tensor`'s; they are written through only if the tensor is writable.
inline TensorView view_of(const Tensor& tensor) noexcept {
  return {tensor.data_type(), tensor.layout(), tensor.shape(), const_cast<void*>(tensor.data())};
}

}  // namespace softneuro
