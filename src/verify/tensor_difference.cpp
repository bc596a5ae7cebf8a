#include "verify/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/routine/format.h"
#include "passes/rounding.h"

namespace softneuro {
namespace {

// Where a tie ends on the other side, it is by one level and its own rounding.
constexpr double kMovedLevels = 1.5;
// Rounding that favours no direction shrinks or stretches a tensor by no more than this, apart from
// what chance does: so many standard deviations.
constexpr double kStretch = 0.005, kDeviations = 4;
// Tensors whose RMS is fewer levels than this may shrink: much of them is rounded to zero.
constexpr double kFewLevels = 8;

bool is_within_levels(const Comparison& c, double step) {
  return c.largest <= kMovedLevels * step && c.moved <= std::max(1.0, kMovedShare * c.count);
}

// The factor that fits best, against its standard error.
bool is_stretched(const Comparison& c, double step) {
  if (c.square == 0 || c.square < c.count * step * step * kFewLevels * kFewLevels) return false;
  const double stretch = std::fabs(c.product / c.square - 1);
  return stretch > kStretch + kDeviations * std::sqrt(c.scatter) / c.square;
}

// Comparison::scatter where equal expected values are rounded alike, as copies of one number are.
double scatter_of_copies(const Tensor& expected, const Tensor& actual) {
  const TensorView e = view_of(expected), a = view_of(actual);
  std::vector<std::pair<double, double>>
      moves;  // of each finite element: value, its product's move
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (const double x = load(e, i), y = load(a, i); std::isfinite(x) && std::isfinite(y))
      moves.emplace_back(x, (y - x) * x);
  std::sort(moves.begin(), moves.end());
  double scatter = 0;
  for (std::size_t i = 0; i < moves.size();) {
    double together = 0;
    for (const double x = moves[i].first; i < moves.size() && moves[i].first == x; ++i)
      together += moves[i].second;
    scatter += together * together;
  }
  return scatter;
}

}  // namespace

double tolerance_of(const Precision& precision) {
  switch (digits_of(precision)) {
    case DataType::float32:
    case DataType::float64:
      return 1e-3;
    case DataType::float16:
      return 2e-2;
    case DataType::bfloat16:
      return 8e-2;
    default:
      return 0.3;  // 8 bits, on random inputs: only garbage is farther off
  }
}

RealRange range_of(const Quantization& quantization) {
  const double scale = quantization.scales[0];
  const int lowest = (quantization.is_signed ? -128 : 0) - quantization.zero_points[0];
  return {scale * lowest, scale * (lowest + 255)};
}

double Comparison::error() const {
  return count > 0 ? std::sqrt(difference / count) : 0;
}

double Comparison::relative() const {
  if (broken) return INFINITY;
  if (difference == 0) return 0;
  return square > 0 ? std::sqrt(difference / square) : INFINITY;
}

Comparison compare_tensors(const Tensor& expected, const Tensor& actual, double step,
                           const RealRange& range) {
  const TensorView e = view_of(expected), a = view_of(actual);
  const bool floats = e.type == DataType::float32 && a.type == DataType::float32;
  const std::int64_t count = expected.elements();
  Comparison c;
  c.count = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    // NaN stays.
    const double x = std::clamp(floats ? e.as<float>()[i] : load(e, i), range.low, range.high);
    const double y = floats ? a.as<float>()[i] : load(a, i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      c.broken = c.broken || !(x == y || (std::isnan(x) && std::isnan(y)));
      continue;
    }
    const double difference = std::fabs(y - x);
    c.square += x * x;
    c.product += x * y;
    c.difference += difference * difference;
    c.scatter += difference * difference * x * x;
    c.largest = std::max(c.largest, difference);
    c.moved += difference > step / 2;
  }
  return c;
}

std::string mismatch(const Tensor& expected, const Tensor& actual, const Tolerance& tolerance) {
  if (!is_float(expected.data_type()))
    return same_bits(expected, actual) ? std::string() : "has different integer values";
  Comparison c = compare_tensors(expected, actual, tolerance.step);
  if (c.broken) return "is NaN or infinite where the model is not, or the other way round";
  if (tolerance.on_levels && tolerance.step > 0 && is_within_levels(c, tolerance.step)) return {};
  // In float32 few values may move by a level, which was looked at above; in 16 and 8 bits many do.
  const double rounding = tolerance.on_levels && !tolerance.unbiased ? 0 : tolerance.step;
  const double limit = tolerance.relative * std::sqrt(c.square / std::max(c.count, 1.0)) +
                       tolerance.absolute + rounding;
  bool stretched = tolerance.unbiased && is_stretched(c, tolerance.step);
  if (stretched) {
    c.scatter = scatter_of_copies(expected, actual);
    stretched = is_stretched(c, tolerance.step);
  }
  if (c.error() <= limit && !stretched) return {};
  if (c.error() <= limit)
    return fmt::format("is scaled by {:.3g} (least squares)", c.product / c.square);
  return fmt::format("differs by {:.3g} (RMS, relative), {:.3g} at most", c.relative(), c.largest);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.data_type() == b.data_type() && a.shape() == b.shape() &&
         (a.bytes() == 0 || a.data() == b.data() ||
          std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

bool is_finite(const Tensor& tensor) {
  if (tensor.empty() || !is_float(tensor.data_type())) return true;
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(load(view, i))) return false;
  return true;
}

UnitDifference unit_difference(const Tensor& expected, const Tensor& actual, double units,
                               double cancelled_units) {
  const TensorView e = view_of(expected), a = view_of(actual);
  const double unit = 2 * unit_roundoff(expected.data_type());
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (const double x = std::fabs(load(e, i)); std::isfinite(x)) largest = std::max(largest, x);
  UnitDifference difference;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double x = load(e, i), y = load(a, i);
    if (!std::isfinite(x) ||
        std::fabs(x - y) <= unit * (units * std::fabs(x) + cancelled_units * largest))
      continue;
    if (difference.count++ == 0) difference.first = i;
  }
  return difference;
}

}  // namespace softneuro
