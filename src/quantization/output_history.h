// Checks whether the outputs of a net on calibration samples are plausible. Samples of another kind
// or scale than the net was made for often show only there, as constant or saturated outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace softneuro {

// One real output of the net, over all samples.
class OutputHistory {
 public:
  // One sample's values; of long outputs the first ones count.
  void add(std::span<const float> values);
  // What looks wrong, as the end of a sentence; empty if nothing does, or for fewer than four
  // samples.
  std::string warning() const;

 private:
  std::vector<float> first_;  // the first sample's values
  std::size_t samples_ = 0;
  double energy_ = 0;                   // sum of squares
  double change_ = 0;                   // of the differences from the first sample
  std::size_t values_ = 0, exact_ = 0;  // all, and those that are exactly 0 or 1
  std::size_t sure_ = 0;                // samples whose largest value is exactly 1
  bool shares_ = true;                  // every value is in 0…1
};

}  // namespace softneuro
