// roi_align cpu/naive: each bin samples x on a grid of points, bilinearly.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "cpu/tensor/indexing.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// The samples of a bin along one axis: position start + (i + ½) · step for i in [0, count), of
// which [first, last) lie on the image; the others count as 0.
struct Samples {
  double start = 0, step = 0, count = 0;
  std::int64_t first = 0, last = 0;

  double at(std::int64_t i) const noexcept { return start + (static_cast<double>(i) + 0.5) * step; }
  bool any_outside() const noexcept { return static_cast<double>(last - first) < count; }
};

// Two neighbours of a position, and their weights.
struct Neighbours {
  std::int64_t low, high;
  double weight_low, weight_high;
};

Neighbours neighbours(double at, std::int64_t dim) noexcept {
  at = std::max(at, 0.0);
  const auto low = static_cast<std::int64_t>(at);
  if (low >= dim - 1) return {dim - 1, dim - 1, 1, 0};
  return {low, low + 1, 1 - (at - static_cast<double>(low)), at - static_cast<double>(low)};
}

class NaiveRoiAlignKernel final : public Kernel {
 public:
  explicit NaiveRoiAlignKernel(const Problem& problem)
      : max_(problem.params.text("mode") == "max"),
        half_pixel_(problem.params.text("coordinate_transformation_mode") == "half_pixel"),
        ratio_(problem.params.integer("sampling_ratio")),
        scale_(problem.params.real("spatial_scale")) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    SN_RETURN_IF_ERROR(check(context));
    const IndexReader batch(context.input(2));
    const std::int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
    const std::int64_t bins = y.shape[2] * y.shape[3];
    parallel_for(context.pool(), y.shape[0] * bins, [&](std::int64_t i) {
      const std::int64_t region = i / bins, row = i % bins / y.shape[3], column = i % y.shape[3];
      const Samples rows = samples(context.input(1), region, 1, row, y.shape[2], height);
      const Samples columns = samples(context.input(1), region, 0, column, y.shape[3], width);
      const std::int64_t image = wrap_index(batch[region], x.shape[0]) * channels;
      for (std::int64_t c = 0; c < channels; ++c)
        store(y, (region * channels + c) * bins + i % bins,
              pooled(x, (image + c) * height * width, rows, columns));
    });
    return {};
  }

 private:
  Status check(const Context& context) const noexcept {
    const TensorView& rois = context.input(1);
    for (std::int64_t i = 0; i < rois.elements(); ++i)
      if (!(std::fabs(load(rois, i) * scale_) < 1e12))
        return invalid_argument("rois[{}, {}] is {}: times spatial_scale, it must be below 1e12",
                                i / 4, i % 4, load(rois, i));
    return check_indices(context.input(2), context.input(0).shape[0]);
  }

  // `side` 0: x, 1: y.
  Samples samples(const TensorView& rois, std::int64_t region, int side, std::int64_t bin,
                  std::int64_t bins, std::int64_t dim) const noexcept {
    const double shift = half_pixel_ ? 0.5 : 0;
    const double begin = load(rois, region * 4 + side) * scale_ - shift;
    double size = load(rois, region * 4 + side + 2) * scale_ - shift - begin;
    if (!half_pixel_) size = std::max(size, 1.0);
    const double bin_size = size / static_cast<double>(bins);
    Samples all;
    all.count = ratio_ > 0 ? static_cast<double>(ratio_) : std::max(std::ceil(bin_size), 0.0);
    all.start = begin + static_cast<double>(bin) * bin_size;
    if (!(all.count > 0)) return all;
    all.step = bin_size / all.count;
    // Only these can lie in [−1, dim]; each is looked at again in turn.
    double from = 0, to = all.count;
    if (all.step != 0) {
      const double a = (-1 - all.start) / all.step,
                   b = (static_cast<double>(dim) - all.start) / all.step;
      from = std::clamp(std::floor(std::min(a, b)) - 1, 0.0, all.count);
      to = std::clamp(std::ceil(std::max(a, b)) + 1, 0.0, all.count);
    }
    const auto inside = [&](std::int64_t i) {
      return all.at(i) >= -1 && all.at(i) <= static_cast<double>(dim);
    };
    all.first = static_cast<std::int64_t>(from);
    all.last = static_cast<std::int64_t>(to);
    while (all.first < all.last && !inside(all.first)) ++all.first;
    while (all.last > all.first && !inside(all.last - 1)) --all.last;
    return all;
  }

  double pooled(const TensorView& x, std::int64_t plane, const Samples& rows,
                const Samples& columns) const noexcept {
    const std::int64_t height = x.shape[2], width = x.shape[3];
    double sum = 0;
    double largest = rows.any_outside() || columns.any_outside() ? 0 : -INFINITY;
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const Neighbours v = neighbours(rows.at(i), height);
      for (std::int64_t j = columns.first; j < columns.last; ++j) {
        const Neighbours h = neighbours(columns.at(j), width);
        const double corners[] = {
            v.weight_low * h.weight_low * load(x, plane + v.low * width + h.low),
            v.weight_low * h.weight_high * load(x, plane + v.low * width + h.high),
            v.weight_high * h.weight_low * load(x, plane + v.high * width + h.low),
            v.weight_high * h.weight_high * load(x, plane + v.high * width + h.high)};
        sum += corners[0] + corners[1] + corners[2] + corners[3];
        largest = std::max(largest, *std::max_element(corners, corners + 4));
      }
    }
    if (rows.count <= 0 || columns.count <= 0) return 0;
    return max_ ? largest : sum / (rows.count * columns.count);
  }

  bool max_;
  bool half_pixel_;
  std::int64_t ratio_;
  double scale_;
};

}  // namespace

Status register_routine_roi_align_cpu_naive(Registry& registry) {
  return add_naive(registry, {"roi_align"}, make_kernel<NaiveRoiAlignKernel, const Problem&>);
}

}  // namespace softneuro
