// center_crop_pad cpu/naive: each element of y asks where in x it is.
#include <cstring>

#include "core/base/element.h"
#include "core/layers/center_crop_pad.h"
#include "cpu/tensor/indexing.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_center_crop_pad(const Problem& problem) {
  Shape before = problem.inputs[0].shape;  // index i of y on axis a is index i − before[a] of x
  for (int a = 0; a < before.rank(); ++a)
    before[a] = center_crop_pad_amount(before[a], problem.outputs[0].shape[a]).before;
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return;
    const std::size_t size = size_of(y.type);
    auto* to = y.as_mutable<std::byte>();
    const Shape strides = strides_of(x.shape);
    Shape index = index_at(0, y.shape);
    do {
      std::int64_t from = 0;
      bool outside = false;
      for (int a = 0; a < index.rank() && !outside; ++a) {
        const std::int64_t i = index[a] - before[a];
        outside = i < 0 || i >= x.shape[a];
        from += i * strides[a];
      }
      if (outside)
        std::memset(to, 0, size);
      else
        std::memcpy(to, x.as<std::byte>() + static_cast<std::size_t>(from) * size, size);
      to += size;
    } while (next_index(index, y.shape));
  });
}

}  // namespace

Status register_routine_center_crop_pad_cpu_naive(Registry& registry) {
  return add_naive(registry, {"center_crop_pad"}, make_naive_center_crop_pad);
}

}  // namespace softneuro
