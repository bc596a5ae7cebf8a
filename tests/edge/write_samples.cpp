// softneuro_edge_samples FOLDER: what check_routines.cmake works on.
//
//   all_routines.txt  "max_pool2 cpu:qint8/direct max_pool2/cpu_direct": folder, descriptor and
//   file
//                     of each of the library's routines
//   tuned.dnn         a net with a path that takes other formats, childnets and a plugin's routine
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "net/make_runtime.h"
#include "profiler/select/candidates.h"
#include "routines/builtin.h"
#include "tuning/small_net.h"

using namespace softneuro;

namespace {

void write_all_routines(const std::string& path) {
  std::ofstream file(path);
  for (std::size_t i = 0; i < builtin_routine_count; ++i) {
    Registry registry(builtin_layer_types());
    if (!builtin_routines[i].add(registry).ok()) continue;
    const std::string name = builtin_routines[i].name;
    for (const Routine* routine : registry.all())
      file << name.substr(0, name.find('/')) << ' ' << routine->descriptor().str() << ' ' << name
           << '\n';
  }
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

// A chain; its layers are named after how they are computed.
Graph make_graph() {
  test::SmallNetBuilder b;
  TensorId x = b.input("image", DynamicShape(Shape{1, 16, 12, 12}));
  for (const char* name : {"childnet", "winograd", "direct", "elsewhere"})
    x = b.conv(name, x, 16, 16, 3);
  Params pool;
  pool.set("kernel", std::vector<std::int64_t>{2, 2});
  pool.set("strides", std::vector<std::int64_t>{2, 2});
  x = b.layer("flatten", "flat", {b.layer("max_pool2", "pool", {x}, pool)});
  b.graph.outputs = {b.layer("dense", "fc", {x, b.weights("fc.w", {576, 10})})};
  require(b.graph.verify(builtin_layer_types()));
  require(b.graph.sort());
  require(b.graph.infer_shapes());
  return b.graph;
}

void write_tuned_net(const std::string& path) {
  const auto graph = std::make_shared<const Graph>(make_graph());
  NetOptions options;
  options.threads = 1;
  options.plugins = {"none"};
  const auto runtime = make_runtime(options).value();
  const std::vector<Shape> shapes = {Shape{1, 16, 12, 12}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  const auto layers = list_candidates(runtime->routine_context(), problems, {{"cpu"}, 8}).value();
  RoutinePath tuned;
  tuned.machine = "another machine, avx2";
  tuned.threads = 2;
  tuned.shapes = {{"image", shapes[0]}};
  tuned.schemas = {"cpu"};
  const auto choose = [&](std::string_view layer, std::string_view routine) -> Choice& {
    for (const LayerCandidates& row : layers)
      for (const Candidate& candidate : row.candidates)
        if (row.layer.layer->name == layer && candidate.routine != nullptr &&
            candidate.routine->descriptor().str() == routine)
          return tuned.layers[row.layer.layer->id] = candidate.choice();
    throw std::runtime_error(fmt::format("{} is no candidate of layer {}", routine, layer));
  };
  choose("childnet", "cpu:float32:nhwc/wgnet");
  choose("winograd", "cpu:float32:nhwc/wg");
  choose("direct", "cpu:float32:nhwc/direct");
  choose("elsewhere", "cpu:float32:nhwc/direct").routine = "cpu:float32:nhwc/elsewhere";
  choose("pool", "cpu:float32:nhwc/direct");
  choose("fc", "cpu/convnet");
  const Format nhwc{DataType::float32, Layout::channels_last};
  tuned.adapts.push_back({graph->inputs[0], Format{DataType::float32}, nhwc, "cpu/direct", {}, 1});
  require(save_dnn(*graph, path, {&tuned, 1}));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  try {
    write_all_routines(folder + "/all_routines.txt");
    write_tuned_net(folder + "/tuned.dnn");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
