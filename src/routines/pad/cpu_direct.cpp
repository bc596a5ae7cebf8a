// pad cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_pad_cpu_direct(Registry& registry) {
  return register_moves(registry, "pad", make_pad_move, {.nhwc = true});
}

}  // namespace softneuro
