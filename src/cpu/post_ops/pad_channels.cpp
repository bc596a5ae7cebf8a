#include "cpu/post_ops/pad_channels.h"

#include <cstring>

namespace softneuro {

Result<Tensor> pad_channels(const TensorSpec& constant, const Shape& output, Layout layout) {
  const int axis = 1 - (output.rank() - constant.shape.rank());
  const std::int64_t block = block_of(layout);
  if (axis < 0 || constant.shape[axis] <= 1 || constant.shape[axis] % block == 0) return Tensor();
  Shape shape = constant.shape;
  shape[axis] = (constant.shape[axis] + block - 1) / block * block;
  SN_ASSIGN_OR_RETURN(Tensor padded, Tensor::create(constant.type, shape));
  const std::int64_t outer = shape.elements(0, axis);
  const std::size_t inner =
      static_cast<std::size_t>(shape.elements(axis + 1, shape.rank())) * size_of(constant.type);
  const std::size_t from = inner * static_cast<std::size_t>(constant.shape[axis]);
  const std::size_t to = inner * static_cast<std::size_t>(shape[axis]);
  auto* target = static_cast<std::byte*>(padded.mutable_data());
  const auto* source = static_cast<const std::byte*>(constant.value.data());
  std::memset(target, 0, padded.bytes());
  for (std::int64_t o = 0; o < outer; ++o, target += to, source += from)
    std::memcpy(target, source, from);
  return padded;
}

}  // namespace softneuro
