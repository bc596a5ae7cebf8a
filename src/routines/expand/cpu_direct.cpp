// expand cpu/direct: what cpu/naive does, in all real types.
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {

Status register_routine_expand_cpu_direct(Registry& registry) {
  return register_moves<make_expand_move>(registry, "expand", {});
}

}  // namespace softneuro
