#include "quantization/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/simd/quantize_rows.h"

namespace softneuro {
namespace {

// Of one span, at most about that many values are counted.
constexpr std::size_t kCounted = 65536;

std::int64_t count_not_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  std::int64_t count = 0;
  for (const float value : values)
    count += (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent;
  return count;
}

std::int64_t floor_half(std::int64_t i) {
  return i >= 0 ? i / 2 : -((1 - i) / 2);
}

// Sums over the first i bins, zeros left out, with a bin's values taken to lie in its middle.
struct Moments {
  double count = 0, first = 0, second = 0;
};
using MomentSums = std::vector<Moments>;

MomentSums sums_of(const Histogram& histogram) {
  MomentSums sums(Histogram::kBins + 1);
  for (std::int64_t i = 0; i < Histogram::kBins; ++i) {
    const auto n = static_cast<double>(histogram.bin(i));
    const double x = (histogram.edge(i) + histogram.edge(i + 1)) / 2;
    Moments next = sums[static_cast<std::size_t>(i)];
    next.count += n;
    next.first += n * x;
    next.second += n * x * x;
    sums[static_cast<std::size_t>(i + 1)] = next;
  }
  return sums;
}

// Σ (x − at)² over the bins [from, to).
double squared_distance(const MomentSums& sums, std::int64_t from, std::int64_t to, double at) {
  const Moments& a = sums[static_cast<std::size_t>(from)];
  const Moments& b = sums[static_cast<std::size_t>(to)];
  return std::max(
      0.0, b.second - a.second - 2 * at * (b.first - a.first) + at * at * (b.count - a.count));
}

}  // namespace

void Histogram::add(std::span<const float> values) {
  if (values.empty()) return;
  if (const std::int64_t bad = count_not_finite(values); bad > 0) {
    not_finite_ += bad;
    return;
  }
  if (count_ == 0) first_ = values[0];
  constant_ = constant_ && std::all_of(values.begin(), values.end(),
                                       [&](float value) { return value == first_; });
  float low = 0, high = 0;
  quantize_rows().range(values.data(), static_cast<std::int64_t>(values.size()), &low, &high);
  low_ = std::min<double>(low_, low);
  high_ = std::max<double>(high_, high);
  if (low < 0 || high > 0) cover(low_, high_);
  const double inverse = width_ > 0 ? 1 / width_ : 0;
  // Odd, so that it does not keep step with the size of an axis.
  const std::size_t step = values.size() / kCounted * 2 + 1;
  for (std::size_t i = 0; i < values.size(); i += step) {
    ++count_;
    if (values[i] == 0)
      ++zeros_;
    else
      ++bins_[static_cast<std::size_t>(
          static_cast<std::int64_t>(std::floor(static_cast<double>(values[i]) * inverse)) - base_)];
  }
}

void Histogram::merge(const Histogram& other) {
  if (count_ == 0) first_ = other.first_;
  constant_ = constant_ && other.constant_ && (other.count_ == 0 || other.first_ == first_);
  low_ = std::min(low_, other.low_);
  high_ = std::max(high_, other.high_);
  count_ += other.count_;
  zeros_ += other.zeros_;
  not_finite_ += other.not_finite_;
  if (other.bins_.empty()) return;
  if (bins_.empty()) {
    bins_ = other.bins_;
    base_ = other.base_;
    width_ = other.width_;
    return;
  }
  Histogram wide = other;
  while (wide.width_ < width_) wide.widen();
  while (width_ < wide.width_) widen();
  cover(std::min(low_, wide.low_), std::max(high_, wide.high_));
  while (wide.width_ < width_) wide.widen();
  for (std::int64_t i = 0; i < kBins; ++i) {
    const std::int64_t to = wide.base_ + i - base_;
    if (to >= 0 && to < kBins) bins_[static_cast<std::size_t>(to)] += wide.bin(i);
  }
}

// Makes the bins hold both values (and whatever they hold already).
void Histogram::cover(double low, double high) {
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    int exponent = 0;
    const double size = std::max({high - low, std::fabs(low), std::fabs(high)});
    std::frexp(size / (kBins / 2), &exponent);
    width_ = std::ldexp(1.0, exponent);
    base_ = static_cast<std::int64_t>(std::floor(low / width_));
    // More values may follow on either side.
    base_ -= (kBins - (static_cast<std::int64_t>(std::floor(high / width_)) - base_ + 1)) / 2;
    return;
  }
  while (true) {
    // Far outside of what bins of this width can hold, any number that fits will do: they widen.
    constexpr double kFar = 1e18;
    const auto first = static_cast<std::int64_t>(std::clamp(std::floor(low / width_), -kFar, kFar));
    const auto last = static_cast<std::int64_t>(std::clamp(std::floor(high / width_), -kFar, kFar));
    if (first >= base_ && last < base_ + kBins) return;
    if (last - first < kBins) return move_to(first - (kBins - (last - first + 1)) / 2);
    widen();
  }
}

// Bins two by two. Widths are powers of two, so that a bin never has to be cut.
void Histogram::widen() {
  std::vector<std::int64_t> merged(kBins, 0);
  const std::int64_t base = floor_half(base_);
  for (std::int64_t i = 0; i < kBins; ++i)
    merged[static_cast<std::size_t>(floor_half(base_ + i) - base)] += bin(i);
  bins_ = std::move(merged);
  base_ = base;
  width_ *= 2;
}

// Precondition: what falls out of the bins is empty.
void Histogram::move_to(std::int64_t base) {
  std::vector<std::int64_t> moved(kBins, 0);
  for (std::int64_t i = 0; i < kBins; ++i) {
    const std::int64_t to = base_ + i - base;
    if (to >= 0 && to < kBins) moved[static_cast<std::size_t>(to)] = bin(i);
  }
  bins_ = std::move(moved);
  base_ = base;
}

ValueRange min_max_range(const Histogram& histogram) {
  return {histogram.low(), histogram.high()};
}

ValueRange percentile_range(const Histogram& histogram, double percentile) {
  ValueRange range = min_max_range(histogram);
  if (histogram.empty()) return range;
  const double tail = (1 - percentile / 100) * static_cast<double>(histogram.count());
  const auto bin = [&](std::int64_t i) {
    // Zeros lie somewhere; the range holds them anyway.
    const bool holds_zero = histogram.edge(i) <= 0 && histogram.edge(i + 1) > 0;
    return static_cast<double>(histogram.bin(i) + (holds_zero ? histogram.zeros() : 0));
  };
  double above = 0;
  for (std::int64_t i = Histogram::kBins - 1; i >= 0 && above + bin(i) <= tail; --i) {
    above += bin(i);
    range.high = std::min(range.high, std::max(0.0, histogram.edge(i)));
  }
  double below = 0;
  for (std::int64_t i = 0; i < Histogram::kBins && below + bin(i) <= tail; ++i) {
    below += bin(i);
    range.low = std::max(range.low, std::min(0.0, histogram.edge(i + 1)));
  }
  return range;
}

ValueRange mse_range(const Histogram& histogram) {
  const ValueRange all = min_max_range(histogram);
  if (histogram.empty()) return all;
  const MomentSums sums = sums_of(histogram);
  const auto place = [&](double value) {  // number of bins below
    const double i =
        std::floor((value - histogram.edge(0)) / (histogram.edge(1) - histogram.edge(0)));
    return static_cast<std::int64_t>(std::clamp<double>(i, 0, Histogram::kBins));
  };
  const auto cost = [&](ValueRange range) {
    const double step = (range.high - range.low) / 255;
    const std::int64_t first = range.low <= all.low ? 0 : place(range.low);
    const std::int64_t last = range.high >= all.high ? Histogram::kBins : place(range.high);
    const double inside =
        sums[static_cast<std::size_t>(last)].count - sums[static_cast<std::size_t>(first)].count;
    return inside * step * step / 12 + squared_distance(sums, 0, first, range.low) +
           squared_distance(sums, last, Histogram::kBins, range.high);
  };
  constexpr int kTried = 64;  // ends on either side: all of it, down to 1/64
  ValueRange best = all;
  double least = cost(all);
  for (int h = kTried; h >= 1; --h) {
    for (int l = kTried; l >= 1; --l) {
      const ValueRange tried = {all.low * l / kTried, all.high * h / kTried};
      if (const double c = cost(tried); c < least) {
        least = c;
        best = tried;
      }
      if (all.low == 0) break;
    }
    if (all.high == 0) break;
  }
  return best;
}

Quantization quantization_for(ValueRange range) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  // Below that, and above a quotient of two floats, arithmetic in float32 breaks down.
  constexpr double kLeast = 1e-30, kMost = 1e36;
  double scale = (high - low) / 255;
  if (scale == 0) scale = 1;
  scale = std::clamp(scale, kLeast, kMost);
  Quantization q;
  q.is_signed = false;
  q.scales = {static_cast<float>(scale)};
  q.zero_points = {static_cast<std::int32_t>(std::clamp(std::nearbyint(-low / scale), 0.0, 255.0))};
  return q;
}

}  // namespace softneuro
