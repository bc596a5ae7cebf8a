#include "plugins/cuda/generate/strides.h"

namespace softneuro::cuda {

std::vector<int> memory_order(int rank, Layout layout) {
  std::vector<int> order;
  const bool is_last = layout == Layout::channels_last && rank >= 3;
  for (int d = 0; d < rank; ++d)
    if (!is_last || d != 1) order.push_back(d);
  if (is_last) order.push_back(1);
  return order;
}

std::vector<std::int64_t> memory_strides(const Shape& shape, Layout layout) {
  const std::vector<int> order = memory_order(shape.rank(), layout);
  std::vector<std::int64_t> strides(order.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[static_cast<std::size_t>(order[i])] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

Steps joined(const Steps& steps) {
  Steps few;
  for (std::size_t d = 0; d < steps.sizes.size(); ++d) {
    const std::int64_t size = steps.sizes[d], stride = steps.strides[d];
    if (size == 1) continue;
    if (!few.sizes.empty() && few.strides.back() == stride * size) {
      few.sizes.back() *= size;
      few.strides.back() = stride;
    } else {
      few.sizes.push_back(size);
      few.strides.push_back(stride);
    }
  }
  if (few.sizes.empty()) few = {{1}, {0}};
  return few;
}

}  // namespace softneuro::cuda
