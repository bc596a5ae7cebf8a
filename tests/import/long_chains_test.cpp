// Nets of very many layers: import, passes, saving and planning take time by their number, not by
// its square. Times are bench/scale's matter; here, searches or copies that grow with the net would
// take hours.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "import/onnx_model.h"
#include "net/net_access.h"
#include "softneuro/net.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr int kNodes = 20000;

// x[1,8] → node 0 → … → y; add(i, from, to) adds node i.
template <class Add>
OnnxModel chain(Add add) {
  OnnxModel model;
  model.input("x", {1, 8});
  std::string from = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string to = i + 1 == kNodes ? "y" : "t" + std::to_string(i);
    add(model, i, from, to);
    from = to;
  }
  model.output("y");
  return model;
}

Net import_net(const OnnxModel& model) {
  const std::string bytes = model.bytes();
  Result<Net> net = Net::import_memory(bytes.data(), bytes.size());
  REQUIRE(net.status().message() == "");
  return *net;
}

Tensor some_input() {
  Tensor x = *Tensor::create(DataType::float32, Shape{1, 8});
  for (int i = 0; i < 8; ++i) x.mutable_values<float>()[static_cast<std::size_t>(i)] = i - 3.5f;
  return x;
}

std::vector<float> run(const Net& net) {
  const Result<NamedTensors> results = net.run({{"x", some_input()}});
  REQUIRE(results.status().message() == "");
  const auto values = results->begin()->second.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("long chains: 20,000 unary nodes become one layer that names each of them once") {
  const Net net = import_net(chain([](OnnxModel& model, int i, auto& from, auto& to) {
    model.node(i % 2 == 0 ? "Neg" : "Relu", {from}, {to}).name("node" + std::to_string(i));
  }));
  REQUIRE(NetAccess::graph(net).layers().size() == 1);
  const std::vector<std::string>& sources = NetAccess::graph(net).layers()[0].sources;
  CHECK(sources.size() == kNodes);
  CHECK(std::set<std::string>(sources.begin(), sources.end()).size() == kNodes);
  CHECK(run(net) == std::vector<float>(8, 0));
}

TEST_CASE("long chains: 20,000 reshapes become one layer") {
  OnnxModel model = chain([](OnnxModel& m, int i, auto& from, auto& to) {
    m.node("Reshape", {from, i % 2 == 0 ? "wide" : "high"}, {to});
  });
  model.int64s("wide", {2}, {2, 4});
  model.int64s("high", {2}, {4, 2});
  const Net net = import_net(model);
  REQUIRE(NetAccess::graph(net).layers().size() == 1);
  CHECK(NetAccess::graph(net).layers()[0].sources.size() == kNodes);
  CHECK(run(net).size() == 8);
}

TEST_CASE("long chains: 20,000 transposes become one layer or none") {
  const Net net = import_net(chain([](OnnxModel& model, int, auto& from, auto& to) {
    model.node("Transpose", {from}, {to}).integers("perm", {1, 0});
  }));
  CHECK(NetAccess::graph(net).layers().size() <= 1);
}

TEST_CASE("long chains: 20,000 layers that share a constant are saved, loaded, planned and run") {
  OnnxModel model = chain([](OnnxModel& m, int, auto& from, auto& to) {
    m.node("Add", {from, "c"}, {to}).name("same");
  });
  model.floats("c", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const TemporaryFolder folder;
  const std::string path = folder.file("chain.dnn");
  REQUIRE(import_net(model).save(path).ok());
  const Result<Net> net = Net::load(path);
  REQUIRE(net.ok());
  CHECK(NetAccess::graph(*net).layers().size() == kNodes);
  CHECK(run(*net)[0] == Approx(kNodes - 3.5));
  // Each layer works in place.
  CHECK(net->memory_report().arena <= 4 * kTensorAlignment);
}

TEST_CASE("long chains: one tensor with 20,000 readers, and as many outputs") {
  OnnxModel model;
  model.input("x", {1, 8});
  for (int i = 0; i < kNodes; ++i) {
    const std::string number = std::to_string(i);
    model.floats("c" + number, {1}, {static_cast<float>(i)});
    model.node("Add", {"x", "c" + number}, {"y" + number});
    model.node("Identity", {"x"}, {"copy" + number});
    model.output("y" + number);
    model.output("copy" + number);
  }
  const Net net = import_net(model);
  const Result<NamedTensors> results = net.run({{"x", some_input()}});
  REQUIRE(results.ok());
  CHECK(results->size() == 2 * kNodes);
  CHECK(results->at("y7").values<float>()[0] == 3.5f);
  CHECK(results->at("copy7").values<float>()[0] == -3.5f);
}
