#include "verify/output_error.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "core/base/element.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// Standard normal, 97.5 %.
constexpr double kNormal = 1.96;

// Student's t, 97.5 %, one side, within 1 %.
double student_t(std::size_t degrees) {
  constexpr double kFew[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  return degrees <= std::size(kFew) ? kFew[degrees - 1]
                                    : kNormal + 2.7 / static_cast<double>(degrees);
}

std::int64_t largest(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.elements(); ++i)
    if (load(view, i) > load(view, best)) best = i;
  return best;
}

// Whether the result is another one: the class, or integers that say so themselves.
bool is_moved(const Tensor& expected, const Tensor& actual) {
  if (!(expected.shape() == actual.shape())) return true;
  if (is_float(expected.data_type())) return largest(expected) != largest(actual);
  return !same_bits(expected, actual);
}

// Whether the integers of this type are taken for numbers, as levels of 8 or 16 bits are. Wider
// ones and booleans are classes, indices or counts: whether one is nearly right says nothing.
bool is_number(DataType type) {
  return is_float(type) || size_of(type) == 2 || type == DataType::int8 || type == DataType::uint8;
}

// 1 − cos of the angle between two tensors; 0 between zeros.
double angle_of(const Comparison& c) {
  if (c.difference == 0) return 0;
  const double actual = c.difference - c.square + 2 * c.product;  // Σ actual²
  return c.square > 0 && actual > 0 ? 1 - c.product / std::sqrt(c.square * actual) : 1;
}

// Wilson's score interval of a share `p` of `n`.
ErrorInterval wilson(double p, double n) {
  const double z = kNormal * kNormal / n;
  const double centre = (p + z / 2) / (1 + z);
  const double half = std::sqrt(z * p * (1 - p) + z * z / 4) / (1 + z);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace

bool has_classes(std::span<const Tensor> outputs) {
  if (outputs.empty()) return false;
  if (!is_float(outputs[0].data_type())) return true;
  const Shape& shape = outputs[0].shape();
  int wide = 0;
  for (int axis = shape.rank() > 1 ? 1 : 0; axis < shape.rank(); ++axis) wide += shape[axis] > 1;
  return wide == 1;
}

double largest_unseen_top1_error(std::size_t samples) {
  return samples == 0 ? 1 : wilson(0, static_cast<double>(samples)).high;
}

void OutputError::add(std::span<const Tensor> expected, std::span<const Tensor> actual) {
  squares_.resize(expected.size());
  angles_.resize(expected.size());
  bool comparable = true;
  for (std::size_t o = 0; o < expected.size(); ++o) {
    Share square, angle;
    if (!(expected[o].shape() == actual[o].shape())) {
      comparable = false;
    } else if (is_number(expected[o].data_type())) {
      const Comparison c = compare_tensors(expected[o], actual[o], 0);
      square = {c.broken ? INFINITY : c.difference, c.square};
      angle = {c.broken ? INFINITY : angle_of(c), 1};
    } else if (expected[o].elements() > 0) {  // as one-hot vectors
      const auto count = static_cast<double>(expected[o].elements());
      const double moved = compare_tensors(expected[o], actual[o], 0).moved;
      square = {2 * moved, count};
      angle = {moved / count, 1};
    }
    squares_[o].push_back(square);
    angles_[o].push_back(angle);
  }
  has_classes_ = has_classes_ && has_classes(expected);
  moved_.push_back({expected.empty() ? 0.0 : is_moved(expected[0], actual[0]), 1});
  incomparable_ += !comparable;
}

double OutputError::ratio(const Shares& shares) {
  double part = 0, whole = 0;
  for (const Share& share : shares) {
    part += share.part;
    whole += share.whole;
  }
  return part == 0 ? 0 : whole > 0 ? part / whole : INFINITY;
}

const OutputError::Shares& OutputError::worst(ErrorMetric metric) const {
  if (metric == ErrorMetric::top1) return moved_;
  const std::vector<Shares>& outputs = metric == ErrorMetric::cosine ? angles_ : squares_;
  const auto found =
      std::max_element(outputs.begin(), outputs.end(),
                       [](const Shares& a, const Shares& b) { return ratio(a) < ratio(b); });
  return found == outputs.end() ? moved_ : *found;
}

double OutputError::value(ErrorMetric metric) const {
  if (squares_.empty()) return 0;
  const double ratio = OutputError::ratio(worst(metric));
  return metric == ErrorMetric::relative_rms ? std::sqrt(ratio) : ratio;
}

ErrorInterval OutputError::interval(ErrorMetric metric) const {
  const double error = value(metric);
  const auto n = static_cast<double>(samples());
  if (metric == ErrorMetric::top1 && samples() > 0) return wilson(error, n);
  if (samples() < 2 || !std::isfinite(error)) return {error, error};
  const Shares& shares = worst(metric);
  const double ratio = OutputError::ratio(shares);
  double residuals = 0, whole = 0;
  for (const Share& share : shares) {
    const double residual = share.part - ratio * share.whole;
    residuals += residual * residual;
    whole += share.whole;
  }
  if (!(whole > 0)) return {error, error};
  const double half = student_t(samples() - 1) * std::sqrt(n / (n - 1) * residuals) / whole;
  ErrorInterval interval{std::max(0.0, ratio - half), ratio + half};
  if (metric == ErrorMetric::relative_rms)
    interval = {std::sqrt(interval.low), std::sqrt(interval.high)};
  return interval;
}

double OutputError::agreement() const {
  return has_classes_ ? 1 - value(ErrorMetric::top1) : NAN;
}

std::vector<double> OutputError::squares_by_sample() const {
  std::vector<double> squares(samples(), 0.0);
  if (squares_.empty()) return squares;
  const Shares& shares = worst(ErrorMetric::relative_rms);
  double whole = 0;
  for (const Share& share : shares) whole += share.whole;
  for (std::size_t s = 0; s < squares.size(); ++s)
    squares[s] = shares[s].part == 0 ? 0 : shares[s].part / whole;
  return squares;
}

}  // namespace softneuro
