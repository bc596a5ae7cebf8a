// Processor seconds and memory of import, saving, loading, planning and two runs of nets with very
// many layers.
//
//   softneuro_scale_bench [--nodes N] [--seconds S] [MODEL...]
//
// Each model is handled by a process of its own, so that its peak of memory is its own; one that
// takes longer than S seconds by the clock is ended. Times that grow by much more than N show a
// search or a copy that grows with the net.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "net/net_access.h"
#include "scale/models.h"
#include "softneuro/net.h"

namespace softneuro::scale {
namespace {

class Stopwatch {
 public:
  // Prints the seconds since the last call, those of all threads together.
  void lap() {
    const double now = used();
    std::printf(" %8.2f", now - last_);
    std::fflush(stdout);
    last_ = now;
  }

 private:
  static double used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  double last_ = used();
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Status measure(const std::string& model) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("scale_" + std::to_string(getpid()) + ".dnn"))
          .string();
  Stopwatch watch;
  SN_ASSIGN_OR_RETURN(const Net net, Net::import_memory(model.data(), model.size()));
  watch.lap();
  SN_RETURN_IF_ERROR(net.save(file));
  watch.lap();
  Result<Net> loaded = Net::load(file);
  std::filesystem::remove(file);
  SN_RETURN_IF_ERROR(loaded.status());
  watch.lap();
  SN_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, loaded->plan());
  watch.lap();
  SN_ASSIGN_OR_RETURN(Tensor x, Tensor::create(DataType::float32, Shape{1, 8}));
  std::memset(x.mutable_data(), 0, x.bytes());
  for (int run = 0; run < 2; ++run) {
    SN_ASSIGN_OR_RETURN(const NamedTensors results, loaded->run({{"x", x}}));
    watch.lap();
  }
  std::printf(" %8zu %8.0f\n", NetAccess::graph(net).layers().size(), peak_megabytes());
  return {};
}

// In a process of its own.
void measure_apart(const std::string& name, int nodes, unsigned seconds) {
  std::printf("%-16s", name.c_str());
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const std::string model = make_model(name, nodes);
    alarm(seconds);
    const Status status = measure(model);
    if (!status.ok()) std::printf(" %s\n", status.message().c_str());
    std::fflush(stdout);
    _exit(status.ok() ? 0 : 1);
  }
  int outcome = 0;
  waitpid(child, &outcome, 0);
  if (WIFSIGNALED(outcome)) std::printf(" ended: %s\n", strsignal(WTERMSIG(outcome)));
}

}  // namespace
}  // namespace softneuro::scale

int main(int argc, char** argv) {
  int nodes = 100000;
  unsigned seconds = 60;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--nodes" && i + 1 < argc)
      nodes = std::atoi(argv[++i]);
    else if (argument == "--seconds" && i + 1 < argc)
      seconds = static_cast<unsigned>(std::atoi(argv[++i]));
    else
      names.push_back(argument);
  }
  if (names.empty()) names = softneuro::scale::model_names();
  std::printf("%d nodes, processor seconds\n%-16s %8s %8s %8s %8s %8s %8s %8s %8s\n", nodes,
              "model", "import", "save", "load", "plan", "run", "again", "layers", "peak MB");
  for (const std::string& name : names) softneuro::scale::measure_apart(name, nodes, seconds);
  return 0;
}
