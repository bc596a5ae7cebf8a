// Verifies that the passes kept what a model computes, and names the one that did not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/runtime.h"
#include "passes/pass.h"

namespace softneuro {

struct PassVerificationJob {
  std::shared_ptr<Runtime> runtime;
  const Graph* model = nullptr;  // sorted, shapes inferred
  const Graph* after = nullptr;  // what run_passes() made of it
  PassOptions passes;            // with these
  // Inputs that are compared on first; each: one tensor per input, in the model's order.
  std::vector<std::vector<Tensor>> samples = {};
};

struct PassVerification {
  std::size_t sets = 0;  // of inputs
  std::string left_out;  // why there are none; "": there are
};

// Runs both graphs side by side (GraphCheck) on the samples, and on inputs made to show what passes
// may get wrong (ExcitingInputs): one set of each at least, and more as long as that is quick. Open
// dimensions get the samples' sizes, then some that the model runs with. Errors: internal, which
// names the pass, the layer and the model's nodes, where the two differ by more than rounding
// explains; cancelled.
SN_INTREE Result<PassVerification> verify_passes(const PassVerificationJob& job) noexcept;

}  // namespace softneuro
