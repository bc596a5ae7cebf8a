// What layers with weights that a TileSweep computes have in common: what they take as weights and
// bias, and the routine parameters that cut the sweep.
//
// Routine parameters: cache, KiB of weights that a task works on at a time; task_ops, multiply-adds
// of a task.
#pragma once

#include "core/gemm/tile_sweep.h"
#include "core/routine.h"

namespace softneuro {

// Constant weights and a bias, inputs 1 and 2, of types that can be packed as float32; a float32
// bias need not be constant.
Applicability takes_swept_weights(const Problem& problem);

RoutineParams default_sweep_params();
// Values that would cut the problem alike are left out. `reused_bytes`: weights that are read again
// for each block of rows; `operations`: multiply-adds of the layer.
ParamSpace sweep_param_space(std::int64_t reused_bytes, std::int64_t operations);
SweepLimits sweep_limits(const RoutineParams& params);

}  // namespace softneuro
