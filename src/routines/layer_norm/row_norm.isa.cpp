#include "routines/layer_norm/row_norm.h"

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would mean no vectors.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// Sums that run side by side: enough for vectors, and for additions to overlap.
constexpr std::int64_t kLanes = 16;

// Σ f(x[i]), element i in sum i mod kLanes, then the sums in a fixed tree.
template <class F>
inline double sum_of(const float* x, std::int64_t count, F f) noexcept {
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) sums[l] += f(static_cast<double>(x[i + l]));
  for (std::int64_t l = 0; i < count; ++i, ++l) sums[l] += f(static_cast<double>(x[i]));
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

RowMoments moments(const float* x, std::int64_t count) noexcept {
  const auto n = static_cast<double>(count);
  const double mean = sum_of(x, count, [](double v) { return v; }) / n;
  const double squares = sum_of(x, count, [mean](double v) { return (v - mean) * (v - mean); });
  return {mean, squares / n};
}

double mean_square(const float* x, std::int64_t count) noexcept {
  return sum_of(x, count, [](double v) { return v * v; }) / static_cast<double>(count);
}

void normalize(const float* x, double mean, double factor, const float* scale, const float* bias,
               float* y, std::int64_t count) noexcept {
  const auto normal = [=](std::int64_t i) {
    return static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
  };
  if (scale == nullptr && bias == nullptr)
    for (std::int64_t i = 0; i < count; ++i) y[i] = normal(i);
  else if (bias == nullptr)
    for (std::int64_t i = 0; i < count; ++i) y[i] = normal(i) * scale[i];
  else if (scale == nullptr)
    for (std::int64_t i = 0; i < count; ++i) y[i] = normal(i) + bias[i];
  else
    for (std::int64_t i = 0; i < count; ++i) y[i] = normal(i) * scale[i] + bias[i];
}

}  // namespace

extern const RowNorm kRowNorm;
const RowNorm kRowNorm = {moments, mean_square, normalize};

}  // namespace softneuro::SN_ISA_NAMESPACE
