// reshape cpu/naive: the input's bytes, copied.
#include "core/registry.h"
#include "routines/reshape/view_copy.h"

namespace softneuro {

Status register_routine_reshape_cpu_naive(Registry& registry) {
  return registry.add(make_view_copy_routine("reshape"));
}

}  // namespace softneuro
