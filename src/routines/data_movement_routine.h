// Routines of layers that only move elements: one kernel that copies them serves every data type,
// and every layout that it knows of.
#pragma once

#include "core/routine/function_routine.h"

namespace softneuro {

struct MoveSchemas {
  bool nhwc = false;   // besides the plain layout
  bool mixed = false;  // one of input and output may be plain while the other is nhwc
};

// For register_moves().
Applicability check_move(const Problem& problem, MakeKernel make);
Result<std::unique_ptr<Kernel>> make_move(const Problem& problem, MakeKernel make);
Status add_moves(Registry& registry, const char* layer_type, const MoveSchemas& schemas,
                 Applicability (*applicable)(const Problem&), MakeKernel create);

// Registers `layer_type` cpu/direct in all real types, in the layouts that `schemas` says.
// qint8 outputs whose quantisation differs from the input's are requantised, and take post-ops of
// one number. The rank is 10. kMake: the kernel that moves the elements of input 0 to the outputs,
// in the types and layouts of the problem; `unsupported` where it cannot handle those layouts.
template <MakeKernel kMake>
Status register_moves(Registry& registry, const char* layer_type, const MoveSchemas& schemas) {
  return add_moves(
      registry, layer_type, schemas, [](const Problem& p) { return check_move(p, kMake); },
      [](const Problem& p) { return make_move(p, kMake); });
}

}  // namespace softneuro
