// unsqueeze cpu/direct: the input's bytes as they are, in other formats.
#include "routines/reshape/view_copy.h"

namespace softneuro {

Status register_routine_unsqueeze_cpu_direct(Registry& registry) {
  return register_direct_view(registry, "unsqueeze");
}

}  // namespace softneuro
