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

}  // namespace softneuro::cuda
