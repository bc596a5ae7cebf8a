// slice cpu/naive: the output is read from the input with other strides, from the first index on.
#include "routines/naive_routine.h"
#include "routines/slice/move.h"

namespace softneuro {

Status register_routine_slice_cpu_naive(Registry& registry) {
  return add_naive(registry, {"slice"}, make_slice_move);
}

}  // namespace softneuro
