#include "random_inputs.h"

#include <random>

#include "core/base/element.h"

namespace softneuro::tool {

Result<Tensor> random_input(DataType type, const Shape& shape, std::uint64_t seed) {
  auto tensor = Tensor::create(type, shape);
  if (!tensor.ok()) return tensor;
  const TensorView view{type, Layout::plain, shape, tensor->mutable_data()};
  std::mt19937_64 generator(seed + 1);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    if (is_float(type))
      store(view, i, 2 * unit - 1);
    else
      store_integer(view, i, unit < 0.5 ? 0 : 1);
  }
  return tensor;
}

}  // namespace softneuro::tool
