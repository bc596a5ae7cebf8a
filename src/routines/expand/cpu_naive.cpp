// expand cpu/naive: walks the output; broadcast axes stand still in the input.
#include "routines/expand/move.h"
#include "routines/naive_routine.h"

namespace softneuro {

Status register_routine_expand_cpu_naive(Registry& registry) {
  return add_naive(registry, {"expand"}, make_expand_move);
}

}  // namespace softneuro
