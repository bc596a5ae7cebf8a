// Plans of nets on tuned paths.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/runtime.h"
#include "core/routine/routine_path.h"
#include "softneuro/net.h"

namespace softneuro {

// What of a path does not apply here: a routine that is missing, other instructions, other shapes.
struct ReplacedChoices {
  std::vector<std::string> layers;  // a line for each
  std::string summary;              // what is missing, what is done, what to do; "": nothing
};

// The plan of `graph` on `path`. Choices that do not apply here are replaced as mend_path() says
// (default_plan.h); `replaced` (if given) says which.
SN_INTREE Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> runtime,
                                                         std::shared_ptr<const Graph> graph,
                                                         std::span<const Shape> input_shapes,
                                                         const RoutinePath& path,
                                                         ReplacedChoices* replaced,
                                                         const std::atomic<bool>* cancel = nullptr);

// Whether a layer of the path computes in 8 bits: the path holds for the ranges that it was made
// for.
SN_INTREE bool reads_ranges(const RoutinePath& path);

// The machine name to compare with path.machine: this machine for nets of so many threads, plus the
// devices that the path uses. Empty if one of them is missing.
SN_INTREE std::string machine_of(const RoutinePath& path, const Registry& registry, int threads);

}  // namespace softneuro
