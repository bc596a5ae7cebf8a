// The one symbol that the plugin shows.
#include "core/plugin/intree.h"
#include "intree_tag.h"
#include "plugins/onednn/library.h"
#include "plugins/onednn/routines.h"

extern "C" __attribute__((visibility("default"))) const softneuro::IntreePlugin sn_intree_plugin;
const softneuro::IntreePlugin sn_intree_plugin = {SOFTNEURO_INTREE_TAG, "onednn",
                                                  &softneuro::onednn::add_routines,
                                                  &softneuro::onednn::libraries};
