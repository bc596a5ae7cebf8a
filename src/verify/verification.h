// Verifies that a tuned net gives what the model gives, numerically, within tolerances
// (docs/internals/accuracy.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/plan_impl.h"

namespace softneuro {

struct VerificationJob {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> model;  // the reference: run with default choices
  std::shared_ptr<const Plan> tuned;   // of `model`, or of a graph that passes made of it
  bool is_same_graph = false;          // `tuned` is of `model` itself: its tensors are the same
  std::vector<Shape> shapes;           // of the graph's inputs
  const std::atomic<bool>* cancel = nullptr;
  std::function<bool()> on_set;  // called after each set of inputs: whether to go on; may be null
  // Filled with the layers whose outputs the model has not, by the names of their tensors: what
  // they compute shows in later ones alone. May be null.
  std::vector<std::string>* unmatched = nullptr;
};

// Runs every step of the tuned plan by itself on what the model computes there, and compares its
// outputs with the model's; what rounding of its inputs and outputs to the formats of the step
// explains is let pass. Then runs the plan as a whole, which must give the same bits as its steps
// one after the other. Inputs are sets in the order of the graph's inputs. Gives the relative RMS
// error of the worst real output of the whole plan over all sets. `internal` where something
// differs: the message names the first layer that does.
SN_INTREE Result<double> verify_plan(const VerificationJob& job,
                                     std::span<const std::vector<Tensor>> inputs);

// Digest of all bits of the outputs of one run.
SN_INTREE std::uint64_t output_digest(std::span<const Tensor> outputs);

}  // namespace softneuro
