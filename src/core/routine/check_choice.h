// Whether a choice of a routine path still holds.
#pragma once

#include "core/routine/registry.h"
#include "core/routine/routine_path.h"

namespace softneuro {

// Whether a layer may be computed as `choice` says; if not, why. `model_problem` is in the model's
// own formats.
SN_INTREE Applicability check_choice(const Registry& registry, const Problem& model_problem,
                                     const Choice& choice);

}  // namespace softneuro
