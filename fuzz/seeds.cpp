// Writes what the fuzzers begin with: seeds and dictionaries of names for each harness.
//
//   softneuro_fuzz_seeds OUT SOURCE [SUITES]
//
// OUT/seeds/HARNESS/*, OUT/HARNESS.list and OUT/HARNESS.dict; SOURCE is the checkout, whose models
// are seeds too, and SUITES the folder of suites beside it, whose breakers are.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/plan/net_problems.h"
#include "core/routine/registry.h"
#include "import/operator_uses.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "npy.h"
#include "one_run.h"
#include "profiler/cache/profile_cache.h"

namespace softneuro::fuzz {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_dictionary(const fs::path& path, const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += '"' + word + "\"\n";
  write(path, text);
}

std::set<std::string> onnx_words() {
  std::set<std::string> words;
  for (const onnx::Operator& op : test::all_operators()) words.emplace(op.name);
  for (const std::string& name : test::attribute_names()) words.insert(name);
  return words;
}

std::set<std::string> dnn_words(const Registry& registry) {
  std::set<std::string> words;
  for (const LayerType* type : registry.layer_types().all()) {
    words.insert(type->name);
    for (const ParamSpec& param : type->params) words.insert(param.name);
  }
  for (const Routine* routine : registry.all()) words.insert(routine->descriptor().str());
  return words;
}

// A path through unusual routines, of those that apply.
RoutinePath any_path(const Net& net, std::mt19937_64& random) {
  RoutinePath path;
  path.machine = machine_name();
  SmallAllocator allocator;
  const auto runtime = make_runtime(small_options(allocator));
  std::vector<Shape> shapes;
  for (const TensorInfo& input : net.inputs()) {
    if (!input.shape.is_static() || !runtime.ok()) return path;
    shapes.push_back(input.shape.to_shape());
    path.shapes.emplace(input.name, shapes.back());
  }
  const auto problems =
      infer_problems(*runtime, std::make_shared<const Graph>(NetAccess::graph(net)), shapes);
  if (!problems.ok()) return path;
  for (const LayerProblem& layer : problems->layers) {
    std::vector<Choice> choices;
    for (const Routine* routine : NetAccess::registry(net).routines(layer.problem.type->name))
      for (const FormatTuple& formats : routine->formats(layer.problem)) {
        Choice choice;
        choice.routine = routine->descriptor().str();
        choice.formats = formats;
        const auto made = RoutineContext(NetAccess::registry(net))
                              .implement(*routine, with_formats(layer.problem, formats));
        if (!made.ok()) continue;
        choice.params = (*made)->default_params();
        choices.push_back(std::move(choice));
      }
    if (!choices.empty()) path.layers[layer.layer->id] = choices[random() % choices.size()];
  }
  return path;
}

void write_dnn(const fs::path& path, const Net& net, std::span<const RoutinePath> paths) {
  const Result<Tensor> file = serialize_dnn(NetAccess::graph(net), default_allocator(), paths);
  if (file.ok()) write(path, {static_cast<const char*>(file->data()), file->bytes()});
}

// The file at `from`, whose path has packed weights, with these alone.
void write_packed(const fs::path& from, const fs::path& to, const NetOptions& options) {
  const Result<Net> net = Net::load(from.string(), options);
  if (net.ok()) static_cast<void>(net->save(to.string(), {.packed_only = true}).ok());
}

// Every operator in the forms that the importer takes; the first one as well if it is refused.
void write_nets(const fs::path& out) {
  constexpr std::uint32_t kAttempts = 24, kWanted = 2;
  std::mt19937_64 random(1);
  SmallAllocator allocator;
  for (const onnx::Operator& op : test::all_operators()) {
    std::uint32_t found = 0;
    for (std::uint32_t seed = 0; seed < kAttempts && found < kWanted; ++seed) {
      const test::OnnxModel model = test::random_use(op, seed);
      const std::string bytes = model.bytes();
      const std::string name = fmt::format("{}-{}-{}", op.name, op.since, seed);
      const bool taken = model.import().ok();
      if (taken || seed == 0) write(out / "onnx" / name, bytes);
      if (!taken) continue;
      ++found;
      const auto net = Net::import_memory(bytes.data(), bytes.size(), small_options(allocator));
      if (!net.ok()) continue;
      add_library_routines(*net);
      write_dnn(out / "dnn" / name, *net, {});
      const RoutinePath path = any_path(*net, random);
      if (path.layers.empty()) continue;
      const fs::path tuned = out / "dnn" / (name + "-path");
      write_dnn(tuned, *net, {&path, 1});
      write_packed(tuned, out / "dnn" / (name + "-packed"), small_options(allocator));
    }
  }
}

void write_arrays(const fs::path& folder) {
  fs::create_directories(folder);
  for (int type = 0; type < kDataTypeCount; ++type)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 1, 3}}) {
      const Result<Tensor> tensor = Tensor::create(static_cast<DataType>(type), shape);
      if (!tensor.ok()) continue;
      const std::string name = fmt::format("{}-{}.npy", type, shape.str());
      static_cast<void>(write_npy((folder / name).string(), *tensor).ok());
    }
  write(folder / "fortran.npy",
        std::string("\x93NUMPY\x02\x00\x4c\x00\x00\x00", 12) +
            "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }                 \n" +
            std::string(24, '\1'));
}

void write_cache(const fs::path& folder) {
  fs::create_directories(folder);
  for (int rows : {1, 5}) {
    ProfileCache cache;
    cache.open(folder.string(), "fuzzed machine", rows, {});
    for (int row = 0; row < rows; ++row)
      cache.put(fmt::format("conv2 {}", row), Profile{.time_us = 1.25 * row,
                                                      .spread_us = 1e-3,
                                                      .error = 0.1,
                                                      .wrong = row == 1,
                                                      .pruned = row == 2});
  }
}

// The seeds of a harness in the form of its option -seed_inputs.
void write_list(const fs::path& out, const std::string& harness) {
  std::string list;
  for (const auto& entry : fs::directory_iterator(out / "seeds" / harness))
    list += (list.empty() ? "" : ",") + entry.path().string();
  write(out / (harness + ".list"), list);
}

void copy_models(const fs::path& from, const fs::path& out) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(from, ignored)) {
    const std::string kind = entry.path().extension().string();
    if (kind != ".onnx" && kind != ".dnn" && kind != ".npy") continue;
    if (entry.file_size() > 20'000) continue;  // small files make a fast fuzzer
    fs::create_directories(out / kind.substr(1));
    fs::copy_file(entry.path(), out / kind.substr(1) / entry.path().filename(),
                  fs::copy_options::overwrite_existing, ignored);
  }
}

}  // namespace
}  // namespace softneuro::fuzz

int main(int argc, char** argv) {
  using namespace softneuro;
  using namespace softneuro::fuzz;
  if (argc < 3) {
    std::fprintf(stderr, "usage: softneuro_fuzz_seeds OUT SOURCE [SUITES]\n");
    return 2;
  }
  const fs::path out = argv[1], seeds = out / "seeds", source = argv[2];
  fs::remove_all(seeds);
  write_nets(seeds);
  write_arrays(seeds / "npy");
  write_cache(seeds / "cache");
  copy_models(source / "models" / "shapes", seeds);
  copy_models(source / "tests" / "data", seeds);
  if (argc > 3) copy_models(fs::path(argv[3]) / "breakers", seeds);
  for (const char* harness : {"dnn", "onnx", "cache", "npy"}) write_list(out, harness);
  write_dictionary(out / "onnx.dict", onnx_words());
  SmallAllocator allocator;
  const std::string any = test::small_model().bytes();
  const auto net = Net::import_memory(any.data(), any.size(), small_options(allocator));
  if (!net.ok()) finding("the small model is refused", net.status());
  add_library_routines(*net);
  write_dictionary(out / "dnn.dict", dnn_words(NetAccess::registry(*net)));
  return 0;
}
