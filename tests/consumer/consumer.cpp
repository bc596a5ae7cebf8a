// Prints the version and meets an error; every symbol that it needs must come from the package.
#include <softneuro/softneuro.h>

#include <cstdio>
#include <cstring>

int main() {
  std::printf("softneuro %s\n", softneuro::version());
  if (std::strcmp(softneuro::version(), SOFTNEURO_VERSION) != 0) return 1;

  const auto loaded = softneuro::Net::load("no such file.dnn");
  std::printf("%s\n", loaded.status().message().c_str());
  if (loaded.ok()) return 1;
#if defined(CONSUMER_IMPORTS)
  const auto imported = softneuro::Net::import("no such file.onnx");
  std::printf("%s\n", imported.status().message().c_str());
  if (imported.ok()) return 1;
#endif
  return 0;
}
