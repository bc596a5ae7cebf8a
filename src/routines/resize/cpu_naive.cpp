// resize cpu/naive: each output element is the weighted sum of its taps on all axes.
#include <cstring>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/resize_taps.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 1024;  // elements

class NaiveResizeKernel final : public Kernel {
 public:
  NaiveResizeKernel(const ResizeOptions& options, std::vector<ResizeTaps> taps)
      : options_(options), taps_(std::move(taps)) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const Shape strides = strides_of(x.shape);
    parallel_ranges(context.pool(), y.elements(), kGrain,
                    [&](std::int64_t first, std::int64_t last) {
                      Shape index = index_at(first, y.shape);
                      for (std::int64_t i = first; i < last; ++i) {
                        if (is_outside(index))
                          store(y, i, options_.extrapolation_value);
                        else if (options_.mode == ResizeMode::nearest)
                          copy(x, nearest(index, strides), y, i);
                        else
                          store(y, i, sampled(x, strides, index, 0, 0));
                        next_index(index, y.shape);
                      }
                    });
    return {};
  }

 private:
  const ResizeTaps& taps(int axis) const noexcept { return taps_[static_cast<std::size_t>(axis)]; }

  bool is_outside(const Shape& index) const noexcept {
    for (int i = 0; i < index.rank(); ++i)
      if (!taps(i).outside.empty() && taps(i).outside[static_cast<std::size_t>(index[i])])
        return true;
    return false;
  }

  std::int64_t nearest(const Shape& index, const Shape& strides) const noexcept {
    std::int64_t offset = 0;
    for (int i = 0; i < index.rank(); ++i)
      offset += taps(i).index[static_cast<std::size_t>(index[i])] * strides[i];
    return offset;
  }

  static void copy(const TensorView& x, std::int64_t from, const TensorView& y,
                   std::int64_t to) noexcept {
    const std::size_t bytes = size_of(x.type);
    std::memcpy(y.as_mutable<std::byte>() + to * static_cast<std::int64_t>(bytes),
                x.as<std::byte>() + from * static_cast<std::int64_t>(bytes), bytes);
  }

  // Σ over the taps of `axis` and all behind it; `offset` is what the axes before it chose.
  double sampled(const TensorView& x, const Shape& strides, const Shape& index, int axis,
                 std::int64_t offset) const noexcept {
    if (axis == index.rank()) return load(x, offset);
    const ResizeTaps& t = taps(axis);
    double sum = 0;
    for (std::int64_t k = 0; k < t.per_output; ++k) {
      const auto tap = static_cast<std::size_t>(index[axis] * t.per_output + k);
      sum += t.weight[tap] *
             sampled(x, strides, index, axis + 1, offset + t.index[tap] * strides[axis]);
    }
    return sum;
  }

  ResizeOptions options_;
  std::vector<ResizeTaps> taps_;  // one per axis
};

Result<std::unique_ptr<Kernel>> make_naive_resize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ResizeOptions options, resize_options(problem.params));
  SN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, resize_axes(problem));
  std::vector<ResizeTaps> taps;
  if (problem.outputs[0].shape.elements() > 0)
    for (const ResizeAxis& axis : axes) taps.push_back(resize_taps(options, axis));
  return make_kernel<NaiveResizeKernel>(options, std::move(taps));
}

}  // namespace

Status register_routine_resize_cpu_naive(Registry& registry) {
  return add_naive(registry, {"resize"}, make_naive_resize);
}

}  // namespace softneuro
