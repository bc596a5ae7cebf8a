#include "routines/builtin.h"

#include "core/base/error.h"
#include "core/layers/builtin_layers.h"
#include "cpu/post_ops/unfused_post_ops.h"

namespace softneuro {
Result<Registry> make_builtin_registry() {
  Registry registry(builtin_layer_types());
  registry.set_unfused_post_ops(DeviceId(), cpu_unfused_post_ops());
  for (std::size_t i = 0; i < builtin_routine_count; ++i) {
    if (Status status = builtin_routines[i].add(registry); !status.ok())
      return std::move(status).with_context(builtin_routines[i].name);
  }
  return registry;
}

}  // namespace softneuro
