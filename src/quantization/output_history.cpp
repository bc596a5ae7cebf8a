#include "quantization/output_history.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace softneuro {
namespace {

constexpr std::size_t kMostValues = 1 << 16;
constexpr std::size_t kFewestSamples = 4;
// RMS of what changes between samples over the RMS of all: less: the output hardly depends on the
// sample.
constexpr double kLeastChange = 2e-2;

}  // namespace

void OutputHistory::add(std::span<const float> values) {
  values = values.first(std::min(values.size(), kMostValues));
  ++samples_;
  if (samples_ == 1) first_.assign(values.begin(), values.end());
  double largest = 0;
  const std::size_t common = std::min(values.size(), first_.size());  // shapes may differ
  for (std::size_t i = 0; i < common; ++i) {
    const double value = static_cast<double>(values[i]);
    const double change = value - static_cast<double>(first_[i]);
    if (!std::isfinite(value)) continue;
    energy_ += value * value;
    change_ += change * change;
    ++values_;
    exact_ += value == 0 || value == 1;
    largest = std::max(largest, value);
    shares_ = shares_ && value >= 0 && value <= 1;
  }
  sure_ += largest == 1;
}

std::string OutputHistory::warning() const {
  if (samples_ < kFewestSamples || first_.size() < 2 || energy_ == 0) return {};
  const double change = std::sqrt(change_ / energy_);
  if (change < kLeastChange)
    return fmt::format(
        "varies by only {:.2g} % (RMS) between samples: are they of the kind and scale that the "
        "net "
        "expects?",
        100 * change);
  // A softmax of numbers far too large. (Zeros alone are what any ReLU makes.)
  if (shares_ && 2 * exact_ > values_ && 2 * sure_ > samples_)
    return fmt::format(
        "is exactly 0 or 1 in {:.0f} % of its values: were the samples scaled as the net expects?",
        100.0 * static_cast<double>(exact_) / static_cast<double>(values_));
  return {};
}

}  // namespace softneuro
