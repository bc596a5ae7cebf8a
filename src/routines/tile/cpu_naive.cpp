// tile cpu/naive: each axis of the output is two, the repetition and the input's own.
#include "routines/naive_routine.h"
#include "routines/tile/move.h"

namespace softneuro {

Status register_routine_tile_cpu_naive(Registry& registry) {
  return add_naive(registry, {"tile"}, make_tile_move);
}

}  // namespace softneuro
