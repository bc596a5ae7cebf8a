// Verifies the tuned path before the net takes it: one that computes something else than the model
// is no result.
#pragma once

#include <memory>
#include <span>

#include "profiler/tune/tune_context.h"

namespace softneuro {

struct Verified {
  double difference = 0;   // TuneReport::difference
  std::size_t inputs = 0;  // sets of them
};

// `plan`: of `path`; `outputs`: what it gives for the first set of inputs. Where all of this was
// verified before, by the same code, the same bits of the outputs tell that it still holds. Stops
// early where a time limit ends. Errors as for verify_plan().
Result<Verified> verify_path(TuneContext& context, const std::shared_ptr<const Plan>& plan,
                             const RoutinePath& path, std::span<const Tensor> outputs);

}  // namespace softneuro
