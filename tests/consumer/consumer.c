#include <softneuro/c_api.h>
#include <stdio.h>

int main(void) {
  printf("softneuro %s\n", sn_version());
  return 0;
}
