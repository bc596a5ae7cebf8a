#include "core/layers/builtin_layers.h"

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

}  // namespace softneuro
