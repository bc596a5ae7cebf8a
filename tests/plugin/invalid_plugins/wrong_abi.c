// The example, as another version of the interface would have it.
#include <softneuro/plugin.h>
#undef SN_PLUGIN_ABI_VERSION
#define SN_PLUGIN_ABI_VERSION 7
#include "example_plugin.c"
