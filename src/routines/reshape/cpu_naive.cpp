// reshape cpu/naive: the input's bytes as they are.
#include "routines/reshape/view_copy.h"

namespace softneuro {

Status register_routine_reshape_cpu_naive(Registry& registry) {
  return add_naive(registry, {"reshape"}, make_view_copy);
}

}  // namespace softneuro
