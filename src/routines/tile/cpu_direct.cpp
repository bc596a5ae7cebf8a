// tile cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_tile_cpu_direct(Registry& registry) {
  return register_moves<make_tile_move>(registry, "tile", {.nhwc = true});
}

}  // namespace softneuro
