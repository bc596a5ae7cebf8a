// The one symbol that the plugin shows.
#include "core/plugin/intree.h"
#include "intree_tag.h"
#include "plugins/cuda/libraries/libraries.h"
#include "plugins/cuda/routines.h"

extern "C" __attribute__((visibility("default"))) const softneuro::IntreePlugin sn_intree_plugin;
const softneuro::IntreePlugin sn_intree_plugin = {
    SOFTNEURO_INTREE_TAG, "cuda", &softneuro::cuda::add_routines, &softneuro::cuda::libraries};
