// split cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_split_cpu_direct(Registry& registry) {
  return register_moves<make_split_move>(registry, "split", {.nhwc = true});
}

}  // namespace softneuro
