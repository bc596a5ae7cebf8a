// SaveOptions::packed_only: files that hold weights as kernels have packed them, and not otherwise.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/dnn/file.h"
#include "net/net_access.h"
#include "small_net.h"
#include "softneuro/session.h"
#include "softneuro/tune.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

constexpr SaveOptions kPackedOnly = {.packed_only = true};

NetOptions one_thread() {
  NetOptions options;
  options.threads = 1;
  return options;
}

// Layers whose weights no kernel reads as the model has them.
TuneOptions options_in(const TemporaryFolder& folder) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  for (const char* layer : {"left", "deep"})
    options.selection.pin[layer] = "cpu:float32:nhwc/direct";
  options.selection.pin["fc"] = "cpu/tiled";
  return options;
}

Net tuned_net(const TemporaryFolder& folder) {
  Net net = NetAccess::from_graph(small_graph(), one_thread()).value();
  const Result<TuneReport> report = net.tune(options_in(folder));
  INFO(report.status().message());
  REQUIRE(report.ok());
  return net;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("packed only: the file is smaller and the net gives the same bits on the same plan") {
  const TemporaryFolder folder;
  const Net net = tuned_net(folder);
  REQUIRE(net.save(folder.file("also.dnn"), {.packed_weights = true}).ok());
  REQUIRE(net.save(folder.file("only.dnn"), kPackedOnly).ok());
  const std::size_t also = bytes_of(folder.file("also.dnn")).size();
  const std::size_t only = bytes_of(folder.file("only.dnn")).size();
  constexpr std::size_t kWeights = 4 * (20 * 20 * 9 + 16 * 20 * 9 + 720 * 10);  // those pinned
  CHECK(only + kWeights <= also);

  const Net loaded = Net::load(folder.file("only.dnn"), one_thread()).value();
  CHECK(loaded.plan().value()->describe() == net.plan().value()->describe());
  CHECK(loaded.plan().value()->memory_report().weights == loaded.memory_report().weights);
  CHECK(loaded.memory_report().weights + kWeights <= net.memory_report().weights);
  const NamedTensors expected = net.run({{"image", random_image(2)}}).value();
  const NamedTensors found = loaded.run({{"image", random_image(2)}}).value();
  for (const auto& [name, tensor] : expected) {
    const Tensor& same = found.at(name);
    REQUIRE(same.bytes() == tensor.bytes());
    CHECK(std::memcmp(same.data(), tensor.data(), tensor.bytes()) == 0);
  }
}

TEST_CASE("packed only: a loaded net is saved as it was, and only so") {
  const TemporaryFolder folder;
  REQUIRE(tuned_net(folder).save(folder.file("only.dnn"), kPackedOnly).ok());
  const Net loaded = Net::load(folder.file("only.dnn"), one_thread()).value();
  REQUIRE(loaded.save(folder.file("again.dnn"), kPackedOnly).ok());
  CHECK(bytes_of(folder.file("again.dnn")) == bytes_of(folder.file("only.dnn")));
  const Status status = loaded.save(folder.file("whole.dnn"));
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Contains("packed_only"));
  CHECK_FALSE(std::filesystem::exists(folder.file("whole.dnn")));
}

TEST_CASE("packed only: a layer that would need its weights otherwise is named") {
  const TemporaryFolder folder;
  REQUIRE(tuned_net(folder).save(folder.file("only.dnn"), kPackedOnly).ok());
  // As where the routines of the path are not there.
  const DnnContents contents =
      load_dnn_contents(folder.file("only.dnn"), builtin_layer_types()).value();
  REQUIRE(save_dnn(contents.graph, folder.file("pathless.dnn")).ok());
  const Net loaded = Net::load(folder.file("pathless.dnn"), one_thread()).value();
  const auto plan = loaded.plan();
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::unsupported);
  CHECK_THAT(plan.status().message(),
             Contains("layer '") && Contains("has only weights packed for another"));
}

TEST_CASE("packed only: where a routine is missing, the library that has it is named") {
  const TemporaryFolder folder;
  REQUIRE(tuned_net(folder).save(folder.file("only.dnn"), kPackedOnly).ok());
  DnnContents contents = load_dnn_contents(folder.file("only.dnn"), builtin_layer_types()).value();
  REQUIRE(contents.paths.size() == 1);
  for (const Layer& layer : contents.graph.layers())
    if (layer.name == "deep")
      contents.paths[0].layers.at(layer.id).routine = "cpu:float32:nhwc/of_another_library";
  REQUIRE(save_dnn(contents.graph, folder.file("other.dnn"), contents.paths).ok());
  const Net loaded = Net::load(folder.file("other.dnn"), one_thread()).value();
  const auto plan = loaded.plan();
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::unsupported);
  CHECK_THAT(plan.status().message(), Contains("no routines of 'of_another_library': 1 layer") &&
                                          Contains("has only weights packed for another"));
}

TEST_CASE("packed only: weights that were left out cannot be outputs") {
  const TemporaryFolder folder;
  REQUIRE(tuned_net(folder).save(folder.file("only.dnn"), kPackedOnly).ok());
  const Net loaded = Net::load(folder.file("only.dnn"), one_thread()).value();
  const Graph& graph = NetAccess::graph(loaded);
  int left_out = 0;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!graph.tensor(id).left_out) continue;
    ++left_out;
    const std::string extra[] = {graph.tensor(id).name};
    const auto plan = loaded.plan({}, extra);
    CHECK(plan.status().code() == StatusCode::unsupported);
    CHECK_THAT(plan.status().message(), Contains("'" + extra[0] + "'"));
  }
  CHECK(left_out > 0);
}

TEST_CASE("packed only: what was loaded cannot be tuned, and an untuned net cannot be saved so") {
  const TemporaryFolder folder;
  const Net untuned = NetAccess::from_graph(small_graph(), one_thread()).value();
  const Status status = untuned.save(folder.file("untuned.dnn"), kPackedOnly);
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Contains("tune it first"));
  CHECK_FALSE(std::filesystem::exists(folder.file("untuned.dnn")));

  REQUIRE(tuned_net(folder).save(folder.file("only.dnn"), kPackedOnly).ok());
  Net loaded = Net::load(folder.file("only.dnn"), one_thread()).value();
  const Result<TuneReport> report = loaded.tune(options_in(folder));
  CHECK(report.status().code() == StatusCode::unsupported);
  CHECK_THAT(report.status().message(), Contains("packed weights only"));
}

TEST_CASE("packed only: a graph that leaves out anything but weights is refused") {
  Graph graph = small_graph();
  const TensorId bias = graph.find_tensor("left.b");
  REQUIRE(bias != kNoTensor);
  graph.tensor(bias).left_out = true;
  const Status status = graph.verify(builtin_layer_types());
  CHECK(status.code() == StatusCode::invalid_model);
  CHECK_THAT(status.message(), Contains("layer 'left'") && Contains("not the layer's weights"));
  graph.tensor(bias).left_out = false;
  graph.tensor(graph.find_tensor("left.w")).left_out = true;
  CHECK(graph.verify(builtin_layer_types()).ok());
}
