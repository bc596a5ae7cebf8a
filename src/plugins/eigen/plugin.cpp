// The one symbol that the plugin shows.
#include "core/plugin/intree.h"
#include "intree_tag.h"
#include "plugins/eigen/routines.h"

extern "C" __attribute__((visibility("default"))) const softneuro::IntreePlugin sn_intree_plugin;
const softneuro::IntreePlugin sn_intree_plugin = {
    SOFTNEURO_INTREE_TAG, "eigen", &softneuro::eigen::add_routines, &softneuro::eigen::libraries};
