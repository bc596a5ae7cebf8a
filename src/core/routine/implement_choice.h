// Whether a choice of a routine path still holds.
#pragma once

#include "core/routine/registry.h"
#include "core/routine/routine_path.h"

namespace softneuro {

// The layer as `choice` says; unsupported, with the reason: that does not hold here.
// `model_problem` is in the model's own formats. Null for a view.
SN_INTREE Result<ImplementationPtr> implement_choice(const RoutineContext& context,
                                                     const Problem& model_problem,
                                                     const Choice& choice);

}  // namespace softneuro
