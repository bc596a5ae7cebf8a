#include <softneuro/c_api.h>
#include <softneuro/c_tune.h>
#include <stdio.h>

int main(void) {
  sn_net_options options = SN_NET_OPTIONS_INIT;
  sn_net* net = NULL;
  printf("softneuro %s\n", sn_version());
  options.threads = 2;
  if (sn_net_load("no such file.dnn", &options, &net) != SN_NOT_FOUND || net != NULL) return 1;
  printf("%s\n", sn_last_error());
  return 0;
}
