// Tensor: data type, layout, shape and bytes (the paper's "blob").
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "softneuro/allocator.h"
#include "softneuro/shape.h"
#include "softneuro/status.h"
#include "softneuro/types.h"

namespace softneuro {

// What a quantised tensor's integers mean: real = scale · (q − zero_point). One pair for the
// tensor, or one per index of `axis`. Describes tensors inside of a net, and so what
// DataType::qint8 means; no function of the API takes or gives it.
struct Quantization {
  bool is_signed = true;
  int axis = -1;                          // −1: per tensor, else per index of this axis
  std::vector<float> scales;              // one, or shape[axis] many; each > 0
  std::vector<std::int32_t> zero_points;  // as many as scales
  // What calibration found: the mean of the real numbers per channel (axis 1; the last axis where
  // a dense layer reads the tensor), for the bias correction of layers with weights. May be empty.
  std::vector<float> channel_means;
  // Found by calibration, which replaces it the next time; else it comes from the model.
  bool calibrated = false;

  bool operator==(const Quantization&) const = default;
};

// The DataType of a C++ type; DataType::undefined if there is none.
template <class T>
constexpr DataType data_type_of() noexcept {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return DataType::float32;
  else if constexpr (std::is_same_v<U, double>)
    return DataType::float64;
  else if constexpr (std::is_same_v<U, Half>)
    return DataType::float16;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return DataType::bfloat16;
  else if constexpr (std::is_same_v<U, std::int8_t>)
    return DataType::int8;
  else if constexpr (std::is_same_v<U, std::uint8_t>)
    return DataType::uint8;
  else if constexpr (std::is_same_v<U, std::int16_t>)
    return DataType::int16;
  else if constexpr (std::is_same_v<U, std::uint16_t>)
    return DataType::uint16;
  else if constexpr (std::is_same_v<U, std::int32_t>)
    return DataType::int32;
  else if constexpr (std::is_same_v<U, std::uint32_t>)
    return DataType::uint32;
  else if constexpr (std::is_same_v<U, std::int64_t>)
    return DataType::int64;
  else if constexpr (std::is_same_v<U, std::uint64_t>)
    return DataType::uint64;
  else if constexpr (std::is_same_v<U, bool>)
    return DataType::boolean;
  else
    return DataType::undefined;
}

// A handle: copies share the same bytes. Owns them (create, from), borrows them from the caller
// (borrow: the caller keeps them alive), or shares an owner such as a file mapping (share).
// Thread compatible: concurrent reads are safe. Typed access and its checks are members, so that
// callers find them.
class SN_API Tensor {
 public:
  Tensor() noexcept = default;  // empty: undefined data type, no bytes

  // The functions that make tensors return invalid_argument for DataType::undefined, for shapes
  // with a negative dimension or more bytes than int64 counts, and for blocked layouts of a rank
  // below 2, and those that allocate (create, from, clone) out_of_memory. Memory that is borrowed
  // or shared has to be aligned to the element size, null only if `bytes` is 0, and `bytes` must be
  // storage_bytes(type, shape, layout) exactly; else invalid_argument. An allocator must outlive
  // the tensor and all of its copies. `layout`: inputs and outputs of nets are plain; sessions
  // refuse other layouts, which are for the caller's own use. clone() of an empty tensor is empty.

  // Uninitialised memory from `allocator`, aligned to kTensorAlignment.
  static Result<Tensor> create(DataType type, const Shape& shape,
                               Allocator& allocator = default_allocator(),
                               Layout layout = Layout::plain) noexcept;
  // Writable memory of the caller.
  static Result<Tensor> borrow(DataType type, const Shape& shape, void* data, std::size_t bytes,
                               Layout layout = Layout::plain) noexcept;
  // Read-only memory of the caller; mutable_data() gives null.
  static Result<Tensor> borrow_const(DataType type, const Shape& shape, const void* data,
                                     std::size_t bytes, Layout layout = Layout::plain) noexcept;
  // Writable memory of the caller on another device: `data` is an address there. Plain layout. Only
  // sessions whose plan has an input or output there take it (Net::plan, `devices`): its bytes
  // cannot be viewed, changed or cloned here.
  static Result<Tensor> borrow_device(DataType type, const Shape& shape, DeviceId device,
                                      void* data, std::size_t bytes) noexcept;
  // Read-only memory that stays valid as long as `owner` lives (a file mapping).
  static Result<Tensor> share(DataType type, const Shape& shape, const void* data,
                              std::size_t bytes, std::shared_ptr<const void> owner,
                              Layout layout = Layout::plain) noexcept;

  // The same from values of a C++ type that has a data type (data_type_of), row-major. `values` is
  // a span, a vector, an array or the like; as many as the shape has elements, else
  // invalid_argument.
  //   Tensor::from(pixels, {1, 3, 224, 224})   Tensor::from({0.5f, 2.0f}, {2})
  // A copy, in memory from `allocator`.
  template <class Values>
  static Result<Tensor> from(const Values& values, const Shape& shape,
                             Allocator& allocator = default_allocator()) noexcept {
    const Result<Tensor> view = borrow_const(values, shape);
    return view.ok() ? view->clone(allocator) : view;
  }
  template <class T>
  static Result<Tensor> from(std::initializer_list<T> values, const Shape& shape,
                             Allocator& allocator = default_allocator()) noexcept {
    return from(std::span(values.begin(), values.size()), shape, allocator);
  }
  // Borrows the caller's memory, writable and read-only. Temporaries that own their memory (rvalue
  // vectors) are rejected at compile time.
  template <class Values>
  static Result<Tensor> borrow(Values&& values, const Shape& shape) noexcept {
    const std::span view(std::forward<Values>(values));
    return borrow(element_type_of(view), shape, view.data(), view.size_bytes());
  }
  template <class Values>
  static Result<Tensor> borrow_const(Values&& values, const Shape& shape) noexcept {
    const std::span view(std::forward<Values>(values));
    return borrow_const(element_type_of(view), shape, view.data(), view.size_bytes());
  }

  bool empty() const noexcept { return type_ == DataType::undefined; }
  DataType data_type() const noexcept { return type_; }
  Layout layout() const noexcept { return layout_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t elements() const noexcept { return shape_.elements(); }
  std::size_t bytes() const noexcept { return bytes_; }
  // Where its bytes are; the host: memory of this process.
  DeviceId device() const noexcept { return device_; }
  // An address of the device.
  const void* data() const noexcept { return data_; }
  bool writable() const noexcept { return writable_; }
  void* mutable_data() noexcept { return writable_ ? const_cast<void*>(data_) : nullptr; }

  // All elements as a span, valid until the last copy of the tensor is gone, or, if it borrows, as
  // long as the caller's memory. invalid_argument, with both types, if T is not this tensor's data
  // type; also for layouts other than plain, bytes on another device, and mutable_view() of
  // read-only memory.
  template <class T>
  Result<std::span<const T>> view() const noexcept {
    if (Status status = check_view(data_type_of<T>(), false); !status.ok()) return status;
    return values<T>();
  }
  template <class T>
  Result<std::span<T>> mutable_view() noexcept {
    if (Status status = check_view(data_type_of<T>(), true); !status.ok()) return status;
    return mutable_values<T>();
  }
  // The raw storage, in memory order and with the padding of blocked layouts; empty if T is not
  // this tensor's data type, or its bytes are on another device (mutable_values: also for read-only
  // memory). In plain layout the same elements as view(). Valid as long as its span.
  template <class T>
  std::span<const T> values() const noexcept {
    if (data_type_of<T>() != type_ || !device_.is_host()) return {};
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_values() noexcept {
    if (data_type_of<T>() != type_ || !device_.is_host() || !writable_) return {};
    return {static_cast<T*>(const_cast<void*>(data_)), bytes_ / sizeof(T)};
  }

  // A deep copy in memory from `allocator`. invalid_argument if its bytes are on another device.
  Result<Tensor> clone(Allocator& allocator = default_allocator()) const noexcept;
  // The same bytes under another shape. invalid_argument for another number of elements, and for
  // layouts other than plain.
  Result<Tensor> reshaped(const Shape& shape) const noexcept;

 private:
  template <class T, std::size_t N>
  static constexpr DataType element_type_of(std::span<T, N>) noexcept {
    static_assert(data_type_of<T>() != DataType::undefined, "this C++ type has no DataType");
    return data_type_of<T>();
  }
  Status check_view(DataType wanted, bool writable) const noexcept;

  DataType type_ = DataType::undefined;
  Layout layout_ = Layout::plain;
  bool writable_ = false;
  DeviceId device_;
  Shape shape_;
  std::size_t bytes_ = 0;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// By the name of an input or output.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;
using NamedShapes = std::map<std::string, Shape, std::less<>>;
using NamedDevices = std::map<std::string, DeviceId, std::less<>>;

// Bytes that a tensor takes, with the padding of its layout; −1 for a negative dimension, where
// that overflows, and for a blocked layout of a rank below 2.
SN_API std::int64_t storage_bytes(DataType type, const Shape& shape, Layout layout) noexcept;

}  // namespace softneuro
