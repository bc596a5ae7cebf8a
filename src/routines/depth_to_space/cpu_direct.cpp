// depth_to_space cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_depth_to_space_cpu_direct(Registry& registry) {
  return register_moves<make_depth_to_space_move>(registry, "depth_to_space", {.nhwc = true});
}

}  // namespace softneuro
