// slice cpu/direct: what cpu/naive does, in all real types and in nhwc.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_slice_cpu_direct(Registry& registry) {
  return register_moves<make_slice_move>(registry, "slice", {.nhwc = true});
}

}  // namespace softneuro
