// What errors on a few samples say about those on others (docs/internals/accuracy.md).
// Arithmetic alone: no dependency on the rest of the profiler.
#pragma once

#include <vector>

#include "profiler/measure/departure.h"

namespace softneuro {

// Of one output on one sample.
using SampleError = SquareSums;

// A squared error, RMS(out − ref)² / RMS(ref)², by sample.
struct ErrorParts {
  std::vector<double> error;   // what each sample adds to it
  std::vector<double> weight;  // each sample's part of the reference's square; their sum is 1

  double square() const;  // the squared error; infinite if the reference is zero or an output NaN
};

// In the samples' order. A sample whose own error is not finite is infinite there.
ErrorParts parts_of(const std::vector<SampleError>& samples);

// How many samples the error comes from: (Σe)² / Σe². 0 if there is no error.
double effective_sample_size(const ErrorParts& parts);

// The largest upper_bound_factor: ten times the error.
constexpr double kMaxFactor = 100;

// The factor f of a 97.5 % upper prediction bound: as many other samples have at most f times the
// squared error of these. From 1, which is also the value for a single sample, to kMaxFactor.
double upper_bound_factor(const ErrorParts& parts);

}  // namespace softneuro
