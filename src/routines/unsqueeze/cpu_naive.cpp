// unsqueeze cpu/naive: the input's bytes as they are.
#include "routines/reshape/view_copy.h"

namespace softneuro {

Status register_routine_unsqueeze_cpu_naive(Registry& registry) {
  return add_naive(registry, {"unsqueeze"}, make_view_copy);
}

}  // namespace softneuro
