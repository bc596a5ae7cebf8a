// What layers with weights that a sweep computes have in common: what they take
// as weights and bias, and the routine parameters that cut the sweep.
//
// Routine parameters: cache, KiB of weights (with a SplitSweep: of sums) that a task works on at a
// time; task_ops, multiply-adds
// of a task.
#pragma once

#include "core/gemm/tile_sweep.h"
#include "core/routine.h"

namespace softneuro {

// Constant weights and a bias, inputs 1 and 2, of types that can be packed as float32; a float32
// bias need not be constant.
Applicability takes_swept_weights(const Problem& problem);

RoutineParams default_sweep_params();

// What their routines answer alike: x is of the routine's data type, weights and bias as above,
// post-ops are applied to sums in float32, and the parameters are those of the sweep.
class SweptRoutine : public Routine {
 public:
  int default_rank() const final { return rank_; }
  Applicability applicable(const Problem& problem) const override;
  bool supports_post_ops(const Problem& problem) const override;
  RoutineParams default_params(const Problem&) const final { return default_sweep_params(); }

 protected:
  SweptRoutine(std::string_view layer_type, std::string_view descriptor, DataType type, int rank)
      : Routine(layer_type, descriptor), type_(type), rank_(rank) {}
  DataType type() const { return type_; }  // of x and y

 private:
  DataType type_;
  int rank_;
};

// Values that would cut the problem alike are left out. `reused_bytes`: weights that are read again
// for each block of rows; `operations`: multiply-adds of the layer.
ParamSpace sweep_param_space(std::int64_t reused_bytes, std::int64_t operations);
SweepLimits sweep_limits(const RoutineParams& params);

}  // namespace softneuro
