// The one symbol that the plugin shows.
#include "core/plugin/intree.h"
#include "intree_tag.h"
#include "plugins/xnnpack/library.h"
#include "plugins/xnnpack/routines.h"

extern "C" __attribute__((visibility("default"))) const softneuro::IntreePlugin sn_intree_plugin;
const softneuro::IntreePlugin sn_intree_plugin = {SOFTNEURO_INTREE_TAG, "xnnpack",
                                                  &softneuro::xnnpack::add_routines,
                                                  &softneuro::xnnpack::libraries};
