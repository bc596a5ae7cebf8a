// Verifies that the passes kept what a model computes, and names the one that did not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/runtime.h"
#include "passes/pass.h"

namespace softneuro {

struct PassVerificationJob {
  std::shared_ptr<Runtime> core;
  const Graph* model = nullptr;  // sorted, shapes inferred
  const Graph* after = nullptr;  // what run_passes() made of it
  PassOptions passes;            // with these
};

struct PassVerification {
  std::size_t sets = 0;  // of inputs
  std::string left_out;  // why there are none; "": there are
};

// Runs both graphs side by side on inputs made to show what passes may get wrong (GraphCheck,
// ExcitingInputs): one set at least, and more as long as that is quick. Open dimensions get sizes
// that the model runs with. Errors: internal, which names the pass, the layer and the model's
// nodes, where the two differ by more than rounding explains; cancelled.
SN_INTREE Result<PassVerification> verify_passes(const PassVerificationJob& job) noexcept;

}  // namespace softneuro
