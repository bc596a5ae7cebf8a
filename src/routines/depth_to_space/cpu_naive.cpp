// depth_to_space cpu/naive: the output as [N, C, H, block, W, block], each axis a stride of x.
#include "routines/depth_to_space/move.h"
#include "routines/naive_routine.h"

namespace softneuro {

Status register_routine_depth_to_space_cpu_naive(Registry& registry) {
  return add_naive(registry, {"depth_to_space"}, make_depth_to_space_move);
}

}  // namespace softneuro
