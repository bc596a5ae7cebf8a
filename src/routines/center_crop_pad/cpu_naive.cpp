// center_crop_pad cpu/naive: each element of y asks where in x it lies.
#include <cstring>

#include "core/base/element.h"
#include "core/layers/center_crop_pad.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveCenterCropPadKernel final : public Kernel {
 public:
  explicit NaiveCenterCropPadKernel(const Problem& problem) : before_(problem.inputs[0].shape) {
    const Shape& y = problem.outputs[0].shape;
    for (int a = 0; a < y.rank(); ++a) before_[a] = center_crop_pad_amount(before_[a], y[a]).before;
  }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    const std::size_t size = size_of(y.type);
    auto* to = y.as_mutable<std::byte>();
    const Shape strides = strides_of(x.shape);
    Shape index = y.shape;
    for (int a = 0; a < index.rank(); ++a) index[a] = 0;
    do {
      const std::int64_t from = place(index, x.shape, strides);
      if (from < 0)
        std::memset(to, 0, size);
      else
        std::memcpy(to, x.as<std::byte>() + static_cast<std::size_t>(from) * size, size);
      to += size;
    } while (next_index(index, y.shape));
    return {};
  }

 private:
  // −1 outside of x.
  std::int64_t place(const Shape& index, const Shape& x, const Shape& strides) const noexcept {
    std::int64_t offset = 0;
    for (int a = 0; a < index.rank(); ++a) {
      const std::int64_t i = index[a] - before_[a];
      if (i < 0 || i >= x[a]) return -1;
      offset += i * strides[a];
    }
    return offset;
  }

  Shape before_;  // index i of y on axis a is index i − before_[a] of x
};

}  // namespace

Status register_routine_center_crop_pad_cpu_naive(Registry& registry) {
  return add_naive<NaiveCenterCropPadKernel>(registry, {"center_crop_pad"});
}

}  // namespace softneuro
