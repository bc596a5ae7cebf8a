// What one tuning is given and what it gives.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/runtime.h"
#include "core/routine/routine_path.h"
#include "profiler/select/candidates.h"
#include "profiler/tune/sample_set.h"
#include "softneuro/tune.h"

namespace softneuro {

struct TuneResult {
  RoutinePath path;
  TuneReport report;
  double least_error = 0;  // of the paths that were tried, by the metric
};

// What the options say of candidates.
SN_INTREE CandidateRules rules_of(const TuneOptions& options);

// What the tuner is given: a net's parts, with shapes resolved.
struct TuneJob {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;  // quantisation annotated, if there is any
  std::vector<Shape> shapes;           // of the graph's inputs
  std::vector<Tensor> inputs;          // a run's inputs: a sample, or made ones
  std::shared_ptr<const Graph> model;  // what the tuned net has to compute
  bool is_model = false;               // `graph` is `model`, but for quantisation
  // What ranges and the outputs are verified on: samples, or synthetic inputs.
  std::vector<std::vector<Tensor>> verification_inputs;
  bool has_samples = false;
  // The model overflows on verification_inputs: that outputs differ there is no reason to refuse.
  bool overflows = false;
  // What the error is measured on, in the order of the graph's inputs, and what float32 gives for
  // it. Empty: there are no samples.
  SampleSet validation;
  std::vector<std::vector<Tensor>> references;
  // The tuned path that the net has for these shapes, threads and schemas on this machine.
  std::optional<RoutinePath> known_path;
  const TuneOptions* options = nullptr;
  CandidateRules rules;
  // When tuning began, calibration included: from then on its seconds are counted.
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  // What planning the model and running it took: once on a validation sample, or on the synthetic
  // inputs.
  std::chrono::steady_clock::duration model_time{0};
  // When tuning has to end (TuneOptions::time_limit).
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  std::vector<std::string> warnings;  // of the preparation, for the report
};

}  // namespace softneuro
