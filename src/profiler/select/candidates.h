// What may compute each layer of a net: routine × formats × parameters (the paper's section IV).
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/routine/routine_path.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/timer.h"
#include "softneuro/tune.h"

namespace softneuro {

struct Candidate {
  const Routine* routine = nullptr;  // null: a view, which costs nothing
  RoutineParams params;
  FormatTuple formats;
  std::string key;          // in the profile cache
  bool unresolved = false;  // a childnet whose inner choices are not made yet; `key` is empty
  bool proposes = false;    // its parameter space may have more: propose_after()

  // What was measured; microseconds. infinity: not yet.
  double isolated_us = std::numeric_limits<double>::infinity();  // outside the net
  MeanTime in_net;                                               // inside the net
  double error = 0;           // RMS of the difference from float32 over its RMS, on random inputs
  std::size_t workspace = 0;  // bytes while it runs
  std::size_t packed = 0;     // bytes of its packed weights
  bool wrong = false;         // results beyond the tolerance of its data type
  bool pruned = false;        // stopped early: isolated_us is an estimate
  // The layer's default choice, taken since the time for measuring was up; isolated_us says
  // nothing.
  bool assumed = false;

  bool is_usable() const;   // measured, and right
  double time_us() const;   // inside the net if it was measured there, else isolated
  bool is_float32() const;  // rounds nothing that float32 does not; the layer's own default does so
  std::string str() const;  // "cpu:float32:nhwc/wg tile_size=4"
  Choice choice() const;
};

struct LayerCandidates {
  LayerProblem layer;
  std::size_t same_as = 0;  // first layer of the net with the same problem; its own index: itself
  bool fallback = false;    // no routine of the allowed schemas: float32 ones serve
  std::vector<Candidate> candidates;

  // The index of the candidate that is `choice`, apart from times; −1: there is none.
  int index_of(const Choice& choice) const;
};

struct CandidateRules {
  std::vector<std::string> schemas;                 // TuneOptions::schemas
  std::size_t max_params = constants::kMostParams;  // combinations of one routine's parameters
  bool childnets = true;                            // whether routines that are nets count
  // Parameters that ParamSpace::promising leaves out, and blocks of 8 channels, count, too.
  bool include_pruned = false;
  TuneSelection selection = {};
};

// Whether a routine's whole name matches a pattern, in which * stands for anything.
bool matches_name(const RoutineDescriptor& descriptor, const std::string& pattern);
// Whether the rules let a layer have a routine.
bool is_allowed(const CandidateRules& rules, const std::string& layer,
                const RoutineDescriptor& descriptor);

// The float32 schemas for layers that have no routine in `schemas`, in this order: those of the
// devices that these name, then the host's.
std::vector<std::string> float32_schemas(std::span<const std::string> schemas);
// The candidates of every layer of `problems`, in order. A layer without a routine in rules.schemas
// has those of the first of float32_schemas() that gives it any. Those on naive routines are left
// out where there is any other. unsupported if a layer has none at all.
SN_INTREE Result<std::vector<LayerCandidates>> list_candidates(const RoutineContext& context,
                                                               const NetProblems& problems,
                                                               const CandidateRules& rules);
// Candidate `index` of `model` is known. If it is the last that its parameter space has proposed,
// adds what the space proposes next, in view of what those of its routine and formats took.
SN_INTREE void propose_after(const RoutineContext& context, const Problem& model,
                             const CandidateRules& rules, std::size_t index,
                             std::vector<Candidate>& candidates);
// The candidates of one problem in the formats that it has, those expected to be fast first: for
// layers inside of childnets. Where no routine of rules.schemas computes it, all others count.
// None if nothing computes it.
std::vector<Candidate> list_fixed_candidates(const RoutineContext& context, const Problem& problem,
                                             const CandidateRules& rules);
// Key of one measurement: problem, quantisation, descriptor, parameters, versions, and the name of
// the routine's device in `registry`.
std::string profile_key(const Registry& registry, const Problem& problem, const Routine& routine,
                        const RoutineParams& params);

}  // namespace softneuro
