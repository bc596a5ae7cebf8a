// Routine path: a candidate for every layer of a net (the paper's section IV), for one machine,
// thread count and set of input shapes. Plain data.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/routine/format.h"
#include "core/routine/routine.h"
#include "softneuro/net.h"

namespace softneuro {

// How one layer is computed: routine, parameters, and the formats that it takes and gives.
struct Choice {
  std::string routine;  // descriptor; empty: the default one for these formats
  RoutineParams params;
  FormatTuple formats;
  double time_us = 0;  // measured inside the net; 0: not measured
};
using Choices = std::unordered_map<LayerId, Choice>;

// What is done with one adapt layer: it is known by its tensor and formats, not by a layer id,
// since adapt layers are put in anew whenever a plan is made.
struct AdaptChoice {
  TensorId tensor = kNoTensor;
  Format from, to;
  std::string routine;
  RoutineParams params;
  double time_us = 0;
};

struct RoutinePath {
  std::unordered_map<LayerId, Choice> layers;  // layers that are not in it: default choice, plain
  std::vector<AdaptChoice> adapts;             // likewise

  // What it was made for, and what was measured then.
  std::string machine;  // machine_of()
  int threads = 1;
  NamedShapes shapes;                // of all inputs
  std::vector<std::string> schemas;  // patterns that were allowed
  double time_us = 0;                // of one run; 0: not measured
  double untuned_us = 0;             // of one run with default choices, measured beside it
  double error = 0;                  // RMS(out − ref) / RMS(ref) against float32; 0: not measured
};

// Whether two paths serve the same runs: a net keeps one of them.
inline bool same_target(const RoutinePath& a, const RoutinePath& b) {
  return a.machine == b.machine && a.threads == b.threads && a.shapes == b.shapes;
}

}  // namespace softneuro
