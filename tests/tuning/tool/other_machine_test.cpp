// Tuned files elsewhere: made with this machine's newest instructions and all libraries, run as on
// an older processor (SOFTNEURO_MAX_ISA) and without the library plugins. The outputs stay right,
// other choices are made where the tuned ones do not apply, and the messages say which.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "core/base/cpu.h"
#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "npy.h"
#include "profiler/select/candidates.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

namespace fs = std::filesystem;

bool is_of_library(const std::string& routine) {
  return routine.ends_with("/onednn") || routine.ends_with("/xnnpack");
}

// Less than this machine has.
struct Place {
  std::string name;
  Environment environment;
  bool has_xnnpack = false, has_onednn = false;  // if they are built at all
  bool has_vectors = true;                       // the same vector instructions
};

// Those that are less than this machine; says which are not.
std::vector<Place> places() {
  const Environment no_plugins = {{"SOFTNEURO_PLUGINS", "none"}};
  std::vector<Place> all = {{"without plugins", no_plugins}};
  for (const std::string mask : {"zen4", "alder-lake", "avx2", "baseline"}) {
    const CpuFeatures left = allowed_features(mask), here = processor_features();
    if (left == here || !here.has(left)) {
      note_skip("this machine cannot be shown as " + mask + ": it has " + to_string(here));
      continue;
    }
    Environment masked = {{"SOFTNEURO_MAX_ISA", mask}};
    // XNNPACK, which has no mask, is left out where a level is hidden.
    const bool keeps_level = left.has(CpuFeature::avx512) == here.has(CpuFeature::avx512) &&
                             left.has(CpuFeature::avx2) == here.has(CpuFeature::avx2);
    all.push_back({"as " + mask, masked, keeps_level, true, keeps_level});
    masked.insert(no_plugins.begin(), no_plugins.end());
    all.push_back({"as " + mask + " without plugins", masked, false, false, keeps_level});
  }
  return all;
}

struct RunResult {
  std::vector<Tensor> outputs;  // in the order of their names
  std::string messages;
};

RunResult run_net(const std::string& net, const std::string& input, const Environment& environment,
                  const TemporaryFolder& folder) {
  const std::string outputs = folder.file("outputs");
  fs::remove_all(outputs);
  ToolProcess tool({"run", net, "--input", input, "--output-dir", outputs, "--threads", "1", "-v"},
                   environment, folder.path().string());
  const int status = tool.wait();
  INFO(tool.errors());
  REQUIRE(status == 0);
  std::set<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(outputs))
    files.insert(entry.path().string());
  RunResult result;
  for (const std::string& file : files) result.outputs.push_back(read_npy(file).value());
  result.messages = tool.errors();
  return result;
}

double worst_error(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  REQUIRE(expected.size() == actual.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, relative_error(expected[i], actual[i]));
  return worst;
}

// Layer → routine of the plan that a net gets.
std::map<std::string, std::string> routines_of(const std::string& net,
                                               const Environment& environment,
                                               const TemporaryFolder& folder) {
  const nlohmann::json report =
      run_tool({"profile", net, "--json", "--seconds", "0", "--threads", "1"}, environment,
               folder.path().string());
  std::map<std::string, std::string> routines;
  for (const nlohmann::json& row : report.at("layers"))
    routines[row.at("layer")] = row.at("routine");
  return routines;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

// One tuned file in one place: `here` is its plan on this machine, `error` what that costs.
void check_place(const Place& place, const std::string& net, const std::string& input,
                 const std::vector<Tensor>& reference, double error,
                 const std::map<std::string, std::string>& here, const TemporaryFolder& folder) {
  INFO(place.name << ", " << net);
  const RunResult result = run_net(net, input, place.environment, folder);
  INFO(result.messages);
  // The same rounding, or less of it where float32 steps in.
  CHECK(worst_error(reference, result.outputs) < 1.5 * error + 1e-4);
  if (place.environment.contains("SOFTNEURO_MAX_ISA"))
    CHECK(result.messages.find("best-matching tuned path") != std::string::npos);
  for (const auto& [layer, routine] : routines_of(net, place.environment, folder)) {
    INFO(layer << ": " << routine);
    CHECK((place.has_onednn || !routine.ends_with("/onednn")));
    CHECK((place.has_xnnpack || !routine.ends_with("/xnnpack")));
  }
  for (const auto& [layer, routine] : here) {
    INFO(layer << ": " << routine);
    const bool gone = (routine.ends_with("/onednn") && !place.has_onednn) ||
                      (routine.ends_with("/xnnpack") && !place.has_xnnpack);
    const std::string line =
        "layer '" + layer + "': tuned routine " + routine + " cannot be used here";
    if (gone && layer.rfind("adapt ", 0) != 0) CHECK(count(result.messages, line) == 1);
  }
}

// The small net with ranges from calibration, so that every data type may take part.
Graph quantised_graph(const TemporaryFolder& folder) {
  NetOptions options;
  options.threads = 1;
  Net net = NetAccess::from_graph(*finished(small_graph()), options).value();
  TuneOptions tuning;
  tuning.schemas = {"cpu:qint8"};
  tuning.cache.folder = folder.file("cache");
  for (std::uint32_t s = 0; s < 5; ++s) tuning.calibration.push_back({{"image", random_image(s)}});
  REQUIRE(net.tune(tuning).ok());
  REQUIRE(net.save(folder.file("quantised.dnn")).ok());
  return load_dnn_contents(folder.file("quantised.dnn"), builtin_layer_types()).value().graph;
}

}  // namespace

TEST_CASE("tuned elsewhere: what the tool tuned runs with fewer instructions and libraries") {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.dnn"), input = "image=" + folder.file("image.npy");
  REQUIRE(NetAccess::from_graph(*finished(small_graph()), {}).value().save(plain).ok());
  REQUIRE(write_npy(folder.file("image.npy"), random_image(50)).ok());
  fs::create_directory(folder.file("samples"));
  for (std::uint32_t s = 0; s < 5; ++s) {
    const std::string sample = folder.file("samples/" + std::to_string(s));
    fs::create_directory(sample);
    REQUIRE(write_npy(sample + "/image.npy", random_image(s)).ok());
  }
  const std::vector<Tensor> reference = run_net(plain, input, {}, folder).outputs;
  const std::vector<Place> all = places();
  std::size_t of_libraries = 0;
  for (const char* schemas : {"cpu:float32", "cpu:float32:nhwc", "cpu:float32:nchw16c",
                              "cpu:float16", "cpu:float32,cpu:qint8", "cpu:qint8"}) {
    INFO(schemas);
    const std::string net = folder.file("tuned.dnn");
    run_tool({"tune", plain, "-o", net, "--packed", "--schemas", schemas, "--threads", "1",
              "--calibration", folder.file("samples"), "--cache", folder.file("cache"), "--json"},
             {}, folder.path().string());
    const double error = worst_error(reference, run_net(net, input, {}, folder).outputs);
    CHECK(error < 0.05);
    const auto here = routines_of(net, {}, folder);
    for (const auto& [layer, routine] : here) of_libraries += is_of_library(routine);
    for (const Place& place : all) check_place(place, net, input, reference, error, here, folder);
  }
#if defined(SOFTNEURO_HAS_LIBRARY_PLUGINS)
  CHECK(of_libraries > 0);  // or the messages were about nothing
#endif
}

TEST_CASE("tuned elsewhere: packed weights of any path are not mistaken for older processors'") {
  const TemporaryFolder folder;
  const std::string input = "image=" + folder.file("image.npy");
  REQUIRE(write_npy(folder.file("image.npy"), random_image(50)).ok());
  const auto graph = std::make_shared<const Graph>(quantised_graph(folder));
  NetOptions options;
  options.threads = 1;
  const auto runtime = make_runtime(options).value();
  const std::vector<Shape> shapes = {Shape{1, 3, 12, 12}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  const auto layers = list_candidates(runtime->routine_context(), problems, {{"cpu"}, 8}).value();
  std::size_t most = 0;
  for (const LayerCandidates& layer : layers) most = std::max(most, layer.candidates.size());

  REQUIRE(save_dnn(*graph, folder.file("plain.dnn")).ok());
  const std::vector<Tensor> reference =
      run_net(folder.file("plain.dnn"), input, {}, folder).outputs;
  const std::vector<Place> all = places();
  // Enough paths for every candidate of every layer to be on one.
  for (std::size_t round = 0; round < most; ++round) {
    RoutinePath path;
    path.machine = machine_name();
    path.shapes = {{"image", shapes[0]}};
    bool anywhere = true;  // no routine that only processors like this one have
    for (const LayerCandidates& layer : layers) {
      const Candidate& candidate = layer.candidates[round % layer.candidates.size()];
      anywhere =
          anywhere && (candidate.routine == nullptr || candidate.routine->facts().needs.empty());
      path.layers.emplace(layer.layer.layer->id, candidate.choice());
    }
    const std::string bare = folder.file("bare.dnn"), net = folder.file("packed.dnn");
    REQUIRE(save_dnn(*graph, bare, std::vector<RoutinePath>{path}).ok());
    REQUIRE(Net::load(bare, options).value().save(net, {.packed_weights = true}).ok());
    const double error = worst_error(reference, run_net(net, input, {}, folder).outputs);
    INFO("path " << round);
    CHECK(error < 0.1);
    const auto here = routines_of(net, {}, folder);
    for (const Place& place : all) {
      INFO(place.name);
      const RunResult result = run_net(net, input, place.environment, folder);
      CHECK(worst_error(reference, result.outputs) < 1.5 * error + 1e-3);
      if (!anywhere || !place.has_vectors) continue;
      // The built-in routines run everywhere: the path was taken, not replaced.
      CHECK(result.messages.find("is replaced") == std::string::npos);
      CHECK(routines_of(net, place.environment, folder) == here);
    }
  }
}
