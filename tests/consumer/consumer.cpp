#include <softneuro/softneuro.h>

#include <cstdio>

int main() {
  std::printf("softneuro %s\n", softneuro::version());
  return 0;
}
