// grid_sample cpu/naive: per place, the weighted sum of the elements around it.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "core/graph/enum_param.h"
#include "core/layers/grid_sample.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 64;  // places
constexpr double kCubicA = -0.75;    // the operator fixes it

// The elements that one place reads along one axis.
struct Taps {
  int count = 1;
  std::int64_t index[4] = {};  // −1: outside, where there are zeros
  double weight[4] = {1, 0, 0, 0};
};

class NaiveGridSampleKernel final : public Kernel {
 public:
  NaiveGridSampleKernel(GridMode mode, GridPadding padding, bool align_corners)
      : mode_(mode), padding_(padding), align_corners_(align_corners) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& grid = context.input(1);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    const int rank = x.shape.rank();
    const std::int64_t channels = x.shape[1];
    const std::int64_t area = x.shape.elements(2, rank);
    const std::int64_t places = y.shape.elements(2, rank);
    parallel_ranges(
        context.pool(), x.shape[0] * places, kGrain, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            Taps taps[kMaxRank];
            for (int axis = 2; axis < rank; ++axis)
              taps[axis] = taps_at(load(grid, i * (rank - 2) + rank - 1 - axis), x.shape[axis]);
            const std::int64_t n = i / places, place = i % places;
            for (std::int64_t c = 0; c < channels; ++c) {
              const std::int64_t plane = n * channels + c;
              put(x, taps, plane * area, y, plane * places + place);
            }
          }
        });
    return {};
  }

 private:
  Taps taps_at(double coordinate, std::int64_t dim) const noexcept {
    const auto n = static_cast<double>(dim);
    double at = align_corners_ ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
    // Not a number, or so far out that it is no use as an index.
    if (!(std::fabs(at) < 0x1p50)) at = -0x1p50;
    if (mode_ == GridMode::nearest) at = std::nearbyint(at);
    at = moved_inside(at, n);
    Taps taps;
    const double base = std::floor(at);
    const double ratio = at - base;
    std::int64_t first = static_cast<std::int64_t>(base);
    if (mode_ == GridMode::linear) {
      taps.count = 2;
      taps.weight[0] = 1 - ratio;
      taps.weight[1] = ratio;
    } else if (mode_ == GridMode::cubic) {
      taps.count = 4;
      --first;
      for (int k = 0; k < 4; ++k) taps.weight[k] = cubic(k - 1 - ratio);
    }
    for (int k = 0; k < taps.count; ++k) taps.index[k] = element_at(first + k, dim);
    return taps;
  }

  static double cubic(double x) noexcept {
    x = std::fabs(x);
    if (x <= 1) return ((kCubicA + 2) * x - (kCubicA + 3)) * x * x + 1;
    return ((kCubicA * x - 5 * kCubicA) * x + 8 * kCubicA) * x - 4 * kCubicA;
  }

  double low() const noexcept { return align_corners_ ? 0 : -0.5; }

  // A place outside x, brought back as the padding says.
  double moved_inside(double at, double n) const noexcept {
    const double high = n - 1 - low();
    if (at >= low() && at <= high) return at;
    if (padding_ == GridPadding::border) return std::clamp(at, 0.0, n - 1);
    return padding_ == GridPadding::reflection ? reflected(at, low(), high) : at;
  }

  static double reflected(double at, double low, double high) noexcept {
    const double range = high - low;
    if (range <= 0) return low;
    const double distance = at < low ? low - at : at > high ? at - high : 0;
    if (distance == 0) return at;
    const double times = std::floor(distance / range);
    const double rest = distance - times * range;
    const bool even = std::fmod(times, 2) == 0;
    return (at < low) == even ? low + rest : high - rest;
  }

  std::int64_t element_at(std::int64_t i, std::int64_t dim) const noexcept {
    if (i >= 0 && i < dim) return i;
    if (padding_ == GridPadding::zeros) return -1;
    if (padding_ == GridPadding::reflection) {
      const double n = static_cast<double>(dim);
      i = static_cast<std::int64_t>(reflected(static_cast<double>(i), low(), n - 1 - low()));
    }
    return std::clamp<std::int64_t>(i, 0, dim - 1);
  }

  void put(const TensorView& x, const Taps* taps, std::int64_t plane, const TensorView& y,
           std::int64_t to) const noexcept {
    if (mode_ != GridMode::nearest || is_float(y.type))
      store(y, to, sampled(x, taps, 2, plane));
    else
      store_integer(y, to, element(x, taps, plane));
  }

  // One element, exactly.
  static std::int64_t element(const TensorView& x, const Taps* taps, std::int64_t at) noexcept {
    std::int64_t offset = 0;
    for (int axis = 2; axis < x.shape.rank(); ++axis) {
      if (taps[axis].index[0] < 0) return 0;
      offset = offset * x.shape[axis] + taps[axis].index[0];
    }
    return load_integer(x, at + offset);
  }

  // Σ over the taps of `axis` and all behind it; `at` is the first element of what is left of x.
  static double sampled(const TensorView& x, const Taps* taps, int axis, std::int64_t at) noexcept {
    const int rank = x.shape.rank();
    if (axis == rank) return load(x, at);
    const std::int64_t step = x.shape.elements(axis + 1, rank);
    double sum = 0;
    for (int k = 0; k < taps[axis].count; ++k)
      if (taps[axis].index[k] >= 0)
        sum += taps[axis].weight[k] * sampled(x, taps, axis + 1, at + taps[axis].index[k] * step);
    return sum;
  }

  GridMode mode_;
  GridPadding padding_;
  bool align_corners_;
};

Result<std::unique_ptr<Kernel>> make_naive_grid_sample(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int mode, choice_of(problem.params, "mode", kGridModes));
  SN_ASSIGN_OR_RETURN(const int padding, choice_of(problem.params, "padding", kGridPaddings));
  return make_kernel<NaiveGridSampleKernel>(static_cast<GridMode>(mode),
                                            static_cast<GridPadding>(padding),
                                            problem.params.integer("align_corners") != 0);
}

}  // namespace

Status register_routine_grid_sample_cpu_naive(Registry& registry) {
  return add_naive(registry, {"grid_sample"}, make_naive_grid_sample);
}

}  // namespace softneuro
