// Routine path: a candidate for every layer of a net (the paper's section IV), for one machine,
// thread count and set of input shapes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/plan_impl.h"
#include "core/plan/runtime.h"
#include "core/routine/routine.h"
#include "softneuro/net.h"

namespace softneuro {

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
  std::string machine;  // machine_name()
  int threads = 1;
  NamedShapes shapes;                // of all inputs
  std::vector<std::string> schemas;  // patterns that were allowed
  double time_us = 0;                // of one run; 0: not measured
  double untuned_us = 0;             // of one run with default choices, measured beside it
  double error = 0;                  // RMS(out − ref) / RMS(ref) against float32; 0: not measured
};

// Processor and instruction set as far as routines may use it: "AMD EPYC …, avx512". Two machines
// of one name run the same kernels at about the same speed.
SN_INTREE const std::string& machine_name();
// Digest of what plans depend on: layers, parameters, shapes, types, quantisation, and a sample of
// the constants. Equal graphs give equal keys on every machine.
SN_INTREE std::uint64_t graph_key(const Graph& graph);

// The graph as layers with problems in the model's own formats: what routines are asked about.
struct LayerProblem {
  const Layer* layer = nullptr;  // of `graph`
  Problem problem;               // in the model's own formats
  bool shareable = true;         // its constants are the graph's own
};
struct NetProblems {
  std::shared_ptr<const Graph> graph;
  std::vector<LayerProblem> layers;  // in order; folded and dynamic layers are left out
};
SN_INTREE Result<NetProblems> problems_of(std::shared_ptr<NetCore> core,
                                          std::shared_ptr<const Graph> graph,
                                          std::span<const Shape> input_shapes,
                                          const std::atomic<bool>* cancel = nullptr);

// Whether a layer may be computed as `choice` says; if not, why.
SN_INTREE Applicability check_choice(const Registry& registry, const Problem& model_problem,
                                     const Choice& choice);

// The plan of `graph` on `path`. Choices that do not apply here (a routine that is missing, another
// instruction set, other shapes) are replaced by default ones; `replaced` (if given) gets a line
// for each.
SN_INTREE Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<NetCore> core,
                                                         std::shared_ptr<const Graph> graph,
                                                         std::span<const Shape> input_shapes,
                                                         const RoutinePath& path,
                                                         std::vector<std::string>* replaced,
                                                         const std::atomic<bool>* cancel = nullptr);

}  // namespace softneuro
