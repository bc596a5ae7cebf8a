#include "support/tensor_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/element.h"

namespace softneuro::test {
namespace {

TensorView view_of_elements(const Tensor& tensor) {
  TensorView view;
  view.type = tensor.data_type();
  view.shape = tensor.shape();
  view.data = const_cast<void*>(tensor.data());
  return view;
}

}  // namespace

std::string difference(const Tensor& result, const Tensor& reference, const Tolerance& tolerance) {
  if (result.data_type() != reference.data_type())
    return fmt::format("type {} instead of {}", to_string(result.data_type()),
                       to_string(reference.data_type()));
  if (!(result.shape() == reference.shape()))
    return fmt::format("shape {} instead of {}", result.shape().str(), reference.shape().str());
  const TensorView a = view_of_elements(result);
  const TensorView b = view_of_elements(reference);
  const bool real = is_float(reference.data_type());
  std::int64_t wrong = 0, worst_at = 0;
  double worst = -1;
  for (std::int64_t i = 0; i < reference.elements(); ++i) {
    const double x = load(a, i), y = load(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double error = std::abs(x - y);
    if (!real) error = std::abs(static_cast<double>(load_integer(a, i) - load_integer(b, i)));
    const double allowed =
        real ? tolerance.absolute + tolerance.relative * std::abs(y) : tolerance.integers;
    if (error <= allowed) continue;
    ++wrong;
    if (std::isnan(error)) error = INFINITY;
    if (error > worst) {
      worst = error;
      worst_at = i;
    }
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements are off; worst at {}: {} instead of {}", wrong,
                     reference.elements(), worst_at, load(a, worst_at), load(b, worst_at));
}

double largest_magnitude(const Tensor& tensor) {
  const TensorView view = view_of_elements(tensor);
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double magnitude = std::abs(load(view, i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

double relative_error(const Tensor& expected, const Tensor& actual) {
  if (!(expected.shape() == actual.shape())) return INFINITY;
  const TensorView e = view_of_elements(expected), a = view_of_elements(actual);
  double square = 0, error = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double gap = load(a, i) - load(e, i);
    square += load(e, i) * load(e, i);
    error += gap * gap;
  }
  if (std::isnan(error)) return INFINITY;
  return error == 0 ? 0 : std::sqrt(error / square);
}

}  // namespace softneuro::test
