// pad cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_pad_cpu_direct(Registry& registry) {
  return register_moves<make_pad_move>(registry, "pad", {.nhwc = true});
}

}  // namespace softneuro
