// What calibration keeps of a tensor's values, and the ranges of 8 bits that follow from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "softneuro/tensor.h"

namespace softneuro {

// Counts values in 2048 bins whose width is a power of two; where a value lies outside, the bins
// move, or merge two by two, so that no value has to be seen twice. Of long spans every n-th value
// is counted; the ends of the range are exact all the same.
class Histogram {
 public:
  static constexpr std::int64_t kBins = 2048;

  // Values that are not finite are counted apart, and a span that holds one is otherwise left out.
  void add(std::span<const float> values);
  void merge(const Histogram& other);

  std::int64_t count() const { return count_; }            // counted values
  std::int64_t not_finite() const { return not_finite_; }  // NaN and infinities
  std::int64_t zeros() const { return zeros_; }            // among count()
  double low() const { return low_; }                      // the least value, or 0
  double high() const { return high_; }                    // the largest, or 0
  bool is_constant() const { return constant_; }           // one value all along, or none

  // Bin i holds values of [edge(i), edge(i + 1)); its exact zeros are counted in zeros() only.
  double edge(std::int64_t i) const { return static_cast<double>(base_ + i) * width_; }
  std::int64_t bin(std::int64_t i) const { return bins_[static_cast<std::size_t>(i)]; }
  bool empty() const { return bins_.empty(); }

 private:
  void cover(double low, double high);
  void widen();
  void move_to(std::int64_t base);

  std::vector<std::int64_t> bins_;  // none until the first value that is not zero
  std::int64_t base_ = 0;           // bin 0 begins at base_ · width_
  double width_ = 0;
  std::int64_t count_ = 0, zeros_ = 0, not_finite_ = 0;
  double low_ = 0, high_ = 0;
  bool constant_ = true;
  float first_ = 0;
};

struct ValueRange {
  double low = 0, high = 0;
};

// Everything that was seen.
ValueRange min_max_range(const Histogram& histogram);
// Without the largest and the least values: `percentile` percent lie below high, as many above low.
ValueRange percentile_range(const Histogram& histogram, double percentile);
// The range whose 256 levels have the least mean squared error, saturation included. Zeros count as
// exact.
ValueRange mse_range(const Histogram& histogram);

// 256 levels of uint8 over `range`, stretched to include 0, which is one of the levels. A range of
// nothing but zero gets the scale 1.
Quantization quantization_for(ValueRange range);

}  // namespace softneuro
