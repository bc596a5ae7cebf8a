// space_to_depth cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_space_to_depth_cpu_direct(Registry& registry) {
  return register_moves<make_space_to_depth_move>(registry, "space_to_depth", {.nhwc = true});
}

}  // namespace softneuro
