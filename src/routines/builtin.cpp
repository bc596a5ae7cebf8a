#include "routines/builtin.h"

#include "core/base/error.h"

namespace softneuro {
namespace {

// Types that fail to register are left out; the test of the tables names them.
LayerTypes make_layer_types() {
  LayerTypes types;
  for (std::size_t i = 0; i < builtin_layer_count; ++i) (void)builtin_layers[i].add(types);
  return types;
}

}  // namespace

const LayerTypes& builtin_layer_types() {
  static const LayerTypes types = make_layer_types();
  return types;
}

Result<Registry> make_builtin_registry() {
  Registry registry(builtin_layer_types());
  for (std::size_t i = 0; i < builtin_routine_count; ++i) {
    if (builtin_routines[i].isa > current_isa()) continue;
    if (Status status = builtin_routines[i].add(registry); !status.ok())
      return std::move(status).with_context(builtin_routines[i].name);
  }
  return registry;
}

}  // namespace softneuro
