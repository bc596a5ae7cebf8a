#include "profiler/tune/error_bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace softneuro {
namespace {

// Student's t for 97.5 %, one side, within 1 %.
double student_t(double degrees) {
  constexpr double kFew[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  if (degrees <= 1) return kFew[0];
  const auto below = static_cast<std::size_t>(degrees);
  if (below >= std::size(kFew)) return 1.96 + 2.7 / degrees;
  return std::lerp(kFew[below - 1], kFew[below], degrees - static_cast<double>(below));
}

}  // namespace

double ErrorParts::square() const {
  return std::accumulate(error.begin(), error.end(), 0.0);
}

ErrorParts parts_of(const std::vector<SampleError>& samples) {
  double reference = 0;
  for (const SampleError& sample : samples) reference += sample.reference;
  ErrorParts parts;
  for (const SampleError& sample : samples) {
    parts.weight.push_back(reference > 0 ? sample.reference / reference : 0);
    const double error = sample.difference == 0 ? 0 : sample.difference / reference;
    parts.error.push_back(std::isfinite(error) ? error : INFINITY);
  }
  return parts;
}

double effective_sample_size(const ErrorParts& parts) {
  const double total = parts.square();
  double squares = 0;
  for (const double error : parts.error) squares += error * error;
  return squares > 0 ? total * total / squares : 0;
}

// The logarithm of a ratio estimator is taken to be normal: errors are positive and skewed, most
// samples lose nothing and one between two classes loses a lot. The error of as many others
// scatters as well: twice the variance. The degrees of freedom follow from the effective sample
// size, (Σe)² / Σe²: samples without error do not show how large it may get.
double upper_bound_factor(const ErrorParts& parts) {
  const double total = parts.square(), n = static_cast<double>(parts.error.size());
  if (n < 2 || !(total > 0) || !std::isfinite(total)) return 1;
  double residuals = 0;
  for (std::size_t s = 0; s < parts.error.size(); ++s) {
    const double residual = parts.error[s] - total * parts.weight[s];
    residuals += residual * residual;
  }
  const double deviation = std::sqrt(2 * n / (n - 1) * residuals) / total;
  return std::exp(
      std::min(student_t(effective_sample_size(parts) - 1) * deviation, std::log(kMaxFactor)));
}

}  // namespace softneuro
