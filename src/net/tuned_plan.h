// Plans of nets: on tuned paths, and on default ones. Of two files that implement
// build_default_plan() and mended_path() one is linked: default_plan.cpp chooses by selection/, and
// registry_default_plan.cpp, for edge builds, takes the registry's default choices.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/runtime.h"
#include "core/routine/routine_path.h"
#include "selection/default_path.h"
#include "softneuro/net.h"

namespace softneuro {

// What of a path does not apply here: a routine that is missing, other instructions, other shapes.
struct ReplacedChoices {
  std::vector<std::string> layers;  // a line for each
  std::string summary;              // what is missing, what is done, what to do; "": nothing
};

// The plan of `graph` on `path`. Choices that do not apply here are replaced as mended_path()
// says; `replaced` (if given) says which.
SN_INTREE Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> runtime,
                                                         std::shared_ptr<const Graph> graph,
                                                         std::span<const Shape> input_shapes,
                                                         const RoutinePath& path,
                                                         ReplacedChoices* replaced,
                                                         const std::atomic<bool>* cancel = nullptr);

// The plan of a net that was not tuned: on default_path(). Without selection/ on the registry's
// default choices, which build_plan() takes without a path; these are also a reference that no
// layout and no Winograd transform rounds.
SN_INTREE Result<std::shared_ptr<const Plan>> build_default_plan(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<const Graph> graph,
    std::span<const Shape> input_shapes, const std::atomic<bool>* cancel = nullptr);

// `path`, of which the choices in `lost` were taken out, as mend_path() of selection/ mends it; as
// it is where nothing was lost and this processor has the path's vector instructions, and without
// selection/.
Result<MendedPath> mended_path(const Runtime& runtime, const NetProblems& problems,
                               const Choices& lost, RoutinePath path);

// Whether a layer of the path computes in 8 bits: the path holds for the ranges that it was made
// for.
SN_INTREE bool reads_ranges(const RoutinePath& path);

// The machine name to compare with path.machine: this machine for nets of so many threads, plus the
// devices that the path uses. Empty if one of them is missing.
SN_INTREE std::string machine_of(const RoutinePath& path, const Registry& registry, int threads);

}  // namespace softneuro
