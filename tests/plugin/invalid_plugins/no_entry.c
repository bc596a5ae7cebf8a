// A shared library that is no plugin.
#include <softneuro/plugin.h>

SN_PLUGIN_EXPORT int answer(void);
int answer(void) {
  return 42;
}
