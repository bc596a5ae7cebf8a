// What rounding a layer does to the net's outputs: in its order layers are taken out of 8 and 16
// bits where the error limit is broken (docs/internals/accuracy.md; the sensitivity analysis of
// post-training quantisation tools).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/tune/tune_context.h"

namespace softneuro {

class Sensitivity {
 public:
  explicit Sensitivity(TuneContext& context) : context_(context), space_(context.space) {}

  // Rounds the layers that `rounded` rounds one at a time in the path `base`, and measures the
  // power of the error at the outputs, on `samples` (indices of TuneJob::validation). Layers with
  // the largest error in isolation come first, until `end`. `on_layer` is told of each.
  Status measure(const Selection& rounded, const Selection& base,
                 const std::vector<std::size_t>& samples, std::chrono::steady_clock::time_point end,
                 const std::function<Status(std::size_t done, std::size_t total,
                                            std::size_t layer)>& on_layer);

  // Power of the error that the candidate adds at the outputs, in relation to the outputs' power.
  // The measured one's is scaled by the square of their isolated errors; a layer that was not
  // measured is taken to be like the others.
  double of(std::size_t layer, const Candidate& candidate) const;

  // By layer; negative: not measured. Empty: nothing was.
  const std::vector<double>& measured() const { return power_; }
  std::size_t runs() const { return runs_; }
  std::size_t from_cache() const { return from_cache_; }

 private:
  Result<std::vector<std::vector<Tensor>>> outputs_for(const Selection& selection) const;
  double power_of(std::size_t layer, const Selection& rounded, const Selection& base);

  TuneContext& context_;
  SearchSpace& space_;
  std::vector<std::vector<Tensor>> samples_, references_;
  std::uint64_t digest_ = 0;   // of net and samples, in keys of the cache
  std::vector<double> power_;  // by layer
  std::vector<double> error_;  // by layer: Candidate::error of what was measured
  double usual_ = 1;  // power at the outputs per squared error of a layer in isolation: the median
  std::size_t runs_ = 0, from_cache_ = 0;
};

}  // namespace softneuro
