// Prints the version and meets an error; every symbol that it needs must come from the package. The
// short forms of the API are here as users write them.
#include <softneuro/softneuro.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace sn = softneuro;

int main() {
  std::printf("softneuro %s\n", sn::version());
  if (std::strcmp(sn::version(), SOFTNEURO_VERSION) != 0) return 1;

  const auto loaded = sn::Net::load("no such file.dnn", {.threads = 2});
  std::printf("%s\n", loaded.status().message().c_str());
  if (loaded.ok()) return 1;
#if defined(CONSUMER_IMPORTS)
  const auto imported =
      sn::Net::import("no such file.onnx", {.threads = 2}, {.shapes = {{"x", {1, 3, 224, 224}}}});
  std::printf("%s\n", imported.status().message().c_str());
  if (imported.ok()) return 1;
#endif
  const sn::TuneOptions tuning = {.schemas = {"cpu"}, .max_error = 0.01, .effort = {.rounds = 1}};
  const std::vector<float> values = {1, 2, 3};
  const sn::Result<sn::Tensor> tensor = sn::Tensor::from(values, {3});
  const auto count = tensor.transform([](const sn::Tensor& t) { return t.elements(); });
  return tuning.selection.strict || count.value_or(0) != 3 || tensor->view<float>().value()[2] != 3
             ? 1
             : 0;
}
