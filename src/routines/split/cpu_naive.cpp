// split cpu/naive: each output is a block of columns of the input, seen as a matrix whose rows are
// the dimensions before the axis.
#include "routines/naive_routine.h"
#include "routines/split/move.h"

namespace softneuro {

Status register_routine_split_cpu_naive(Registry& registry) {
  return add_naive(registry, {"split"}, make_split_move);
}

}  // namespace softneuro
