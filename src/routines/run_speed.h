// RoutineFunctions::speed of layers that move runs of neighbouring elements.
#pragma once

#include <algorithm>
#include <limits>

#include "core/routine/problem.h"

namespace softneuro {

// In channels-last, runs are as long as the narrowest tensor has channels, and each takes as long
// as kRunElements more (measured: 0.8 ns for a run, on 2 threads). In the plain layout they are
// long.
inline double run_speed(const Problem& problem) {
  constexpr double kRunElements = 100;
  std::int64_t run = std::numeric_limits<std::int64_t>::max();
  const auto look_at = [&](const TensorSpec& spec) {
    if (spec.present() && spec.layout == Layout::channels_last) run = std::min(run, spec.shape[1]);
  };
  std::for_each(problem.inputs.begin(), problem.inputs.end(), look_at);
  std::for_each(problem.outputs.begin(), problem.outputs.end(), look_at);
  const auto elements = static_cast<double>(std::max<std::int64_t>(run, 1));
  return elements / (elements + kRunElements);
}

}  // namespace softneuro
