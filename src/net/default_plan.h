// Plans of nets that were not tuned, and what replaces choices of tuned paths that do not apply.
//
// Two files implement this, of which one is linked: default_plan.cpp chooses by selection/, and
// registry_default_plan.cpp, for edge builds, takes the registry's default choices.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "core/plan/runtime.h"
#include "core/routine/routine_path.h"
#include "selection/default_path.h"

namespace softneuro {

// On default_path(). Without selection/ the registry's default choices, which build_plan() takes
// without a path; these are also a reference that no layout and no Winograd transform rounds.
SN_INTREE Result<std::shared_ptr<const Plan>> build_default_plan(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<const Graph> graph,
    std::span<const Shape> input_shapes, const std::atomic<bool>* cancel = nullptr);

// `path`, of which the choices in `lost` were taken out, as mend_path() of selection/ mends it; as
// it is where nothing was lost and this processor has the path's vector instructions, and without
// selection/.
Result<MendedPath> mended_path(const Runtime& runtime, const NetProblems& problems,
                               const Choices& lost, RoutinePath path);

}  // namespace softneuro
