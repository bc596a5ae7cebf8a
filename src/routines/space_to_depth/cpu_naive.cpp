// space_to_depth cpu/naive: the output as [N, block, block, C, H, W], each axis a stride of x.
#include "routines/naive_routine.h"
#include "routines/space_to_depth/move.h"

namespace softneuro {

Status register_routine_space_to_depth_cpu_naive(Registry& registry) {
  return add_naive(registry, {"space_to_depth"}, make_space_to_depth_move);
}

}  // namespace softneuro
