#include "softneuro/tensor.h"

#include <cstring>

#include "core/base/error.h"

namespace softneuro {
namespace {

// One piece of an allocator's memory.
class OwnedBytes {
 public:
  OwnedBytes(Allocator& allocator, std::size_t bytes)
      : allocator_(allocator), bytes_(bytes), data_(allocator_.allocate(bytes, kTensorAlignment)) {}
  OwnedBytes(const OwnedBytes&) = delete;
  OwnedBytes& operator=(const OwnedBytes&) = delete;
  ~OwnedBytes() {
    if (data_ != nullptr) allocator_.deallocate(data_, bytes_);
  }
  void* data() const { return data_; }  // null: the allocator had none

 private:
  Allocator& allocator_;
  const std::size_t bytes_;
  void* const data_;
};

Result<std::size_t> checked_bytes(DataType type, const Shape& shape, Layout layout) {
  if (size_of(type) == 0) return invalid_argument("a tensor needs a data type");
  const std::int64_t bytes = storage_bytes(type, shape, layout);
  if (bytes < 0)
    return invalid_argument(
        "shape {} of {} in layout {} has a negative dimension, a rank below that of the layout, or "
        "takes "
        "more bytes than can be counted",
        shape.str(), to_string(type), to_string(layout));
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::int64_t storage_bytes(DataType type, const Shape& shape, Layout layout) noexcept {
  Shape stored = shape;
  if (const int block = block_of(layout); block > 1) {
    if (shape.rank() < 2) return -1;
    if (stored[1] < 0 || stored[1] > INT64_MAX - block) return -1;
    stored[1] = (stored[1] + block - 1) / block * block;
  }
  if (stored.elements() < 0) return -1;
  // Zeros are left out at first: a walk over a tensor multiplies some of its dimensions
  // (strides, rows before an axis), also where it has no elements, and no such product may
  // overflow.
  auto bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t dim : stored.dims())
    if (dim > 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  return stored.elements() == 0 ? 0 : bytes;
}

Result<Tensor> Tensor::create(DataType type, const Shape& shape, Allocator& allocator,
                              Layout layout) noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(const std::size_t bytes, checked_bytes(type, shape, layout));
    auto owner = std::make_shared<OwnedBytes>(allocator, bytes > 0 ? bytes : 1);
    if (owner->data() == nullptr)
      return make_error(StatusCode::out_of_memory, "no memory for a tensor of {} bytes ({} {})",
                        bytes, to_string(type), shape.str());
    Tensor tensor;
    tensor.type_ = type;
    tensor.layout_ = layout;
    tensor.shape_ = shape;
    tensor.bytes_ = bytes;
    tensor.data_ = owner->data();
    tensor.owner_ = std::move(owner);
    tensor.writable_ = true;
    return tensor;
  });
}

Result<Tensor> Tensor::borrow(DataType type, const Shape& shape, void* data, std::size_t bytes,
                              Layout layout) noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(Tensor tensor, borrow_const(type, shape, data, bytes, layout));
    tensor.writable_ = true;
    return tensor;
  });
}

Result<Tensor> Tensor::borrow_const(DataType type, const Shape& shape, const void* data,
                                    std::size_t bytes, Layout layout) noexcept {
  return share(type, shape, data, bytes, nullptr, layout);
}

Result<Tensor> Tensor::borrow_device(DataType type, const Shape& shape, DeviceId device, void* data,
                                     std::size_t bytes) noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(Tensor tensor, borrow(type, shape, data, bytes));
    tensor.device_ = device;
    return tensor;
  });
}

Result<Tensor> Tensor::share(DataType type, const Shape& shape, const void* data, std::size_t bytes,
                             std::shared_ptr<const void> owner, Layout layout) noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(const std::size_t needed, checked_bytes(type, shape, layout));
    if (bytes != needed)
      return invalid_argument("{} {} takes {} bytes, but {} are given", to_string(type),
                              shape.str(), needed, bytes);
    if (data == nullptr && needed > 0) return invalid_argument("a tensor's data is null");
    if (reinterpret_cast<std::uintptr_t>(data) % size_of(type) != 0)
      return invalid_argument("a tensor's data is not aligned to its {}", to_string(type));
    Tensor tensor;
    tensor.type_ = type;
    tensor.layout_ = layout;
    tensor.shape_ = shape;
    tensor.bytes_ = needed;
    tensor.data_ = data;
    tensor.owner_ = std::move(owner);
    return tensor;
  });
}

Status Tensor::check_view(DataType wanted, bool writable) const noexcept {
  return guarded([&]() -> Status {
    if (wanted != type_)
      return invalid_argument("a tensor of {} {} is viewed as {}", to_string(type_), shape_.str(),
                              to_string(wanted));
    if (layout_ != Layout::plain)
      return invalid_argument("a tensor in the layout {} has no plain view", to_string(layout_));
    if (!device_.is_host())
      return invalid_argument("a tensor on the device {} cannot be viewed", device_.c_str());
    if (writable && !writable_) return invalid_argument("a read-only tensor is viewed for writing");
    return {};
  });
}

Result<Tensor> Tensor::clone(Allocator& allocator) const noexcept {
  if (empty()) return Tensor();
  if (!device_.is_host())
    return guarded([&]() -> Result<Tensor> {
      return invalid_argument("a tensor on the device {} cannot be cloned", device_.c_str());
    });
  Result<Tensor> copy = create(type_, shape_, allocator, layout_);
  if (copy.ok() && bytes_ > 0) std::memcpy(const_cast<void*>(copy->data_), data_, bytes_);
  return copy;
}

Result<Tensor> Tensor::reshaped(const Shape& shape) const noexcept {
  return guarded([&]() -> Result<Tensor> {
    if (layout_ != Layout::plain || shape.elements() != shape_.elements())
      return invalid_argument("cannot view {} ({}) as {}", shape_.str(), to_string(layout_),
                              shape.str());
    Tensor view = *this;
    view.shape_ = shape;
    return view;
  });
}

}  // namespace softneuro
