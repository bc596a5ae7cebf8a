// pad cpu/naive: what stays of x is copied into place; each other element asks where on x it lies.
#include "routines/naive_routine.h"
#include "routines/pad/move.h"

namespace softneuro {

Status register_routine_pad_cpu_naive(Registry& registry) {
  return add_naive(registry, {"pad"}, make_pad_move);
}

}  // namespace softneuro
