#include "cpu/tensor/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softneuro {
namespace {

// Position on the input, in elements, of output index x (ONNX, coordinate_transformation_mode).
double position_of(ResizeCoordinates coordinates, const ResizeAxis& axis, double x) {
  const auto input = static_cast<double>(axis.input.value);
  const auto output = static_cast<double>(axis.output.value);
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  switch (coordinates) {
    case ResizeCoordinates::half_pixel_symmetric:
      // Rounding the output's length moves its centre; this moves it back.
      return input / 2 * (1 - output / axis.length) + half_pixel;
    case ResizeCoordinates::pytorch_half_pixel:
      return axis.length > 1 ? half_pixel : 0;
    case ResizeCoordinates::align_corners:
      return axis.length == 1 ? 0 : x * (input - 1) / (axis.length - 1);
    case ResizeCoordinates::asymmetric:
      return x / axis.scale;
    case ResizeCoordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / axis.scale;
    case ResizeCoordinates::tf_crop_and_resize:
      return axis.length == 1 ? (axis.roi_start + axis.roi_end) * (input - 1) / 2
                              : axis.roi_start * (input - 1) + x * (axis.roi_end - axis.roi_start) *
                                                                   (input - 1) / (axis.length - 1);
    default:
      return half_pixel;
  }
}

double rounded(ResizeRounding rounding, double position) {
  switch (rounding) {
    case ResizeRounding::round_prefer_ceil:
      return std::floor(position + 0.5);
    case ResizeRounding::floor:
      return std::floor(position);
    case ResizeRounding::ceil:
      return std::ceil(position);
    default:
      return std::ceil(position - 0.5);
  }
}

// The kernel's value at a distance of x elements.
double kernel_at(const ResizeOptions& options, double x) {
  x = std::fabs(x);
  if (options.mode == ResizeMode::linear) return std::max(1 - x, 0.0);
  const double a = options.cubic_coeff_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Weights of the elements around one position; `index` may lie outside the axis.
void weigh(const ResizeOptions& options, double position, double stretch, std::int64_t dim,
           std::span<std::int64_t> index, std::span<double> weight) {
  const double base = std::floor(position);
  const auto half = static_cast<std::int64_t>(index.size()) / 2;
  for (std::size_t k = 0; k < index.size(); ++k) {
    const std::int64_t offset = static_cast<std::int64_t>(k) + 1 - half;
    const std::int64_t at = static_cast<std::int64_t>(base) + offset;
    const bool outside = at < 0 || at >= dim;
    const double distance = static_cast<double>(offset) - (position - base);
    weight[k] = options.exclude_outside && outside ? 0 : kernel_at(options, distance * stretch);
    index[k] = std::clamp<std::int64_t>(at, 0, dim - 1);
  }
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (sum != 0)
    for (double& w : weight) w /= sum;
  else
    weight[0] = 1;  // everything is excluded: the edge, to which all indices were clamped
}

}  // namespace

Result<std::vector<ResizeAxis>> resize_axes(const Problem& problem) {
  ResizeRequest request;
  request.roi = problem.has_input(1) ? reals_of(&problem.inputs[1].value) : std::nullopt;
  request.scales = problem.has_input(2) ? reals_of(&problem.inputs[2].value) : std::nullopt;
  if (problem.has_input(3) && problem.inputs[3].shape.elements() > 0)
    request.sizes = problem.integers(3);
  const DynamicShape x(problem.inputs[0].shape);
  return resize_axes(x.dims(), problem.params, request);
}

ResizeTaps resize_taps(const ResizeOptions& options, const ResizeAxis& axis) {
  ResizeTaps taps;
  const std::int64_t dim = axis.input.value;
  const std::int64_t outputs = axis.output.value;
  const bool identity = axis.is_identity();
  // Shrinking with antialias, the kernel grows with the distance of the outputs.
  const double stretch = options.antialias ? std::min(axis.scale, 1.0) : 1.0;
  if (!identity && options.mode != ResizeMode::nearest) {
    const double radius = options.mode == ResizeMode::cubic ? 2 : 1;
    taps.per_output = 2 * static_cast<std::int64_t>(std::ceil(radius / stretch));
  }
  const auto n = static_cast<std::size_t>(taps.per_output);
  taps.index.resize(static_cast<std::size_t>(outputs) * n);
  taps.weight.assign(taps.index.size(), 1.0);
  const bool crops = options.coordinates == ResizeCoordinates::tf_crop_and_resize && !identity;
  if (crops) taps.outside.resize(static_cast<std::size_t>(outputs));

  // Beyond these limits all taps lie on one edge.
  const double limit = 4.0 * static_cast<double>(dim + taps.per_output);
  for (std::int64_t x = 0; x < outputs; ++x) {
    const auto o = static_cast<std::size_t>(x);
    const double exact = identity ? static_cast<double>(x)
                                  : position_of(options.coordinates, axis, static_cast<double>(x));
    const double position = std::clamp(exact, -limit, limit);
    if (crops) taps.outside[o] = exact < 0 || exact > static_cast<double>(dim - 1);
    if (n == 1)
      taps.index[o] = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(identity ? position : rounded(options.rounding, position)), 0,
          dim - 1);
    else
      weigh(options, position, stretch, dim, std::span(taps.index).subspan(o * n, n),
            std::span(taps.weight).subspan(o * n, n));
  }
  return taps;
}

}  // namespace softneuro
