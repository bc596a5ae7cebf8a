// How far the outputs of a net are from those of its reference, on samples (TuneCriteria::metric).
#pragma once

#include <span>
#include <vector>

#include "softneuro/export.h"
#include "softneuro/net.h"
#include "softneuro/tune.h"

namespace softneuro {

// 95 % confidence interval for samples like those that were seen.
struct ErrorInterval {
  double low = 0, high = 0;
};

// Whether output 0 says a class: integers, or scores along one dimension besides the first, which
// may be the batch.
bool has_classes(std::span<const Tensor> outputs);

// What the share of moved classes may be after none was seen in so many samples: the upper end of
// its 95 % interval.
double largest_unseen_top1_error(std::size_t samples);

class SN_INTREE OutputError {
 public:
  // One sample's outputs. Outputs of other shapes than the reference's cannot be compared and add
  // nothing but to incomparable(). Booleans and integers of 32 and 64 bits count as classes, that
  // is, as one-hot vectors.
  void add(std::span<const Tensor> expected, std::span<const Tensor> actual);

  // Infinite where an output is NaN or infinite and its reference is not, or the other way round.
  double value(ErrorMetric metric) const;
  // Of a mean (top1: Wilson's interval), else of a ratio of sums over samples: its standard error
  // by the delta method, with Student's t, for which a single sample says nothing of others:
  // `value` twice.
  ErrorInterval interval(ErrorMetric metric) const;
  // What each sample adds to the squared relative RMS of the worst output.
  std::vector<double> squares_by_sample() const;

  // Top-1 agreement; NaN where an output holds no classes.
  double agreement() const;

  std::size_t samples() const { return moved_.size(); }
  std::size_t incomparable() const { return incomparable_; }  // samples

 private:
  // One sample's part of one output's error, which is Σ part / Σ whole (relative_rms: squared).
  struct Share {
    double part = 0, whole = 0;
  };
  using Shares = std::vector<Share>;  // by sample
  static double ratio(const Shares& shares);
  const Shares& worst(ErrorMetric metric) const;

  std::vector<Shares> squares_, angles_;  // by output
  Shares moved_;                          // the largest element of output 0
  std::size_t incomparable_ = 0;
  bool has_classes_ = true;
};

}  // namespace softneuro
