// What a net that was not tuned runs on.
#pragma once

#include <span>
#include <string>

#include "core/plan/net_problems.h"
#include "core/routine/routine_path.h"

namespace softneuro {

// The path of `problems` that costs least by a model of costs: nothing is measured, so that it is
// the same on every machine that has the same routines. Data types stay the model's; what is chosen
// is, for each layer, the plain layout or channels-last. In either, the routine of highest default
// rank serves, of those whose schema is among `schemas` (patterns; empty: all).
// Layers that have a routine on `device`, which is in the registry, are there, and views where that
// saves adapts.
// Layers whose choice is the registry's default in the plain layout are not in the path: it is
// empty where that is best for all. Times are 0: nothing was measured.
// Errors: out_of_memory.
SN_INTREE Result<RoutinePath> default_path(const RoutineContext& context,
                                           const NetProblems& problems,
                                           std::span<const std::string> schemas,
                                           DeviceId device = {});

// A tuned path without the choices that do not apply here.
struct MendedPath {
  RoutinePath path;
  bool is_default = false;  // all of it is default_path(): what was left is not worth its adapts
  // The path was measured with other vector instructions, which its choices in floating point need.
  bool is_of_other_processor = false;
};

// Where a path was measured.
enum class MeasuredOn { this_machine, similar_machine, other_instructions };

// What `kept`, the choices that apply, becomes without those in `lost`: the layers of these get
// what costs least by the model of costs, beside the others as they are; or all layers do, where
// that costs less. What the tuned path gained counts for what is left of it, if it was measured on
// this machine.
// Which routine is the fastest in floating point does not carry over to a processor with other
// vector instructions. There, of the processor's choices, only those in 8 bits are kept: they were
// allowed because they need less arithmetic and memory.
// A choice on another device is replaced there: by its routine with default parameters, else by
// another routine for its formats, else as default_path() does. A path that has half of its layers
// or more on one device counts as a net of that device; others are nets of `device`.
// Errors: out_of_memory.
SN_INTREE Result<MendedPath> mend_path(const RoutineContext& context, const NetProblems& problems,
                                       std::span<const std::string> schemas, RoutinePath kept,
                                       const Choices& lost, MeasuredOn measured,
                                       DeviceId device = {});

// Implementation::speed() of cpu/naive, which computes one element after the other in double.
inline constexpr double kNaiveSpeed = 0.01;

// What a layer costs in the formats of its problem, in multiply-adds of a dense channels-last
// product: arithmetic at Implementation::speed(), and the bytes that it moves.
SN_INTREE double estimated_cost(const Implementation& implementation);
// The same of an adapt of a tensor of `shape`.
SN_INTREE double estimated_adapt_cost(const Shape& shape, const Format& from, const Format& to);

}  // namespace softneuro
