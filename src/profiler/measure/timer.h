// Timing as robust as a noisy machine allows: batches to a floor, low quartile, spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/clock.h"

namespace softneuro {

// Order statistics of one candidate's samples, in microseconds.
class Samples {
 public:
  void add(double us) {
    values_.insert(std::upper_bound(values_.begin(), values_.end(), us), us);
    total_ += us;
  }
  void add(const Samples& other) {
    for (const double us : other.values_) add(us);
  }
  std::size_t count() const { return values_.size(); }
  double total() const { return total_; }
  double minimum() const { return values_.empty() ? 0 : values_.front(); }
  double quantile(double q) const {
    if (values_.empty()) return 0;
    const auto i =
        static_cast<std::size_t>(std::llround(q * static_cast<double>(values_.size() - 1)));
    return values_[i];
  }
  double median() const { return quantile(0.5); }
  // For kernels and steps: the load of other processes only ever adds time, so the low quartile is
  // nearer to the truth than the mean, and less a matter of luck than the minimum.
  double centre() const { return quantile(0.25); }
  double spread() const { return (quantile(0.75) - quantile(0.25)) / 2; }

 private:
  std::vector<double> values_;  // sorted
  double total_ = 0;
};

// The mean of several measurements, each of so many samples.
struct MeanTime {
  double us = 0, samples = 0;
  void add(double more_us, double more_samples) {
    us = (us * samples + more_us * more_samples) / (samples + more_samples);
    samples += more_samples;
  }
};

}  // namespace softneuro
