// A second format beside ONNX gets all that imports have: folding, names, shapes and constants of
// the user, and the report of everything that is unsupported.
#include "import/toy_format.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/graph/layer_type.h"
#include "import/model_import.h"
#include "import/onnx_model.h"
#include "net/net_access.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

// The known formats and this one.
std::vector<build::Format> formats_with_toy() {
  std::vector<build::Format> formats(known_formats().begin(), known_formats().end());
  formats.push_back(toy_format());
  return formats;
}

Result<Net> import_toy(const std::string& text, const ImportOptions& options = {}) {
  return import_net(std::as_bytes(std::span(text)), "", {}, options, formats_with_toy());
}

Net imported(const std::string& text, const ImportOptions& options = {}) {
  Result<Net> net = import_toy(text, options);
  INFO(net.status().message());
  REQUIRE(net.ok());
  return *std::move(net);
}

std::vector<float> run(const Net& net, const NamedTensors& inputs, const std::string& output) {
  const Result<NamedTensors> results = net.run(inputs);
  INFO(results.status().message());
  REQUIRE(results.ok());
  const auto values = results->at(output).values<float>();
  return {values.begin(), values.end()};
}

constexpr const char* kTwoLayers =
    "toy 1\n"
    "input x float32 N,3\n"
    "constant w float32 3,2 1 2 3 4 5 6\n"
    "relu r x\n"
    "matmul y r w\n"
    "output y\n";

constexpr const char* kSum =
    "toy 1\n"
    "input a float32 N,2\n"
    "input b float32 N,2\n"
    "add y a b\n"
    "output y\n";

}  // namespace

TEST_CASE("import: a second format is imported, run and computes what it says") {
  const Net net = imported(kTwoLayers, {.verify = true});
  const NamedTensors inputs{
      {"x", Tensor::from(std::vector<float>{1, -1, 2, -3, 0.5f, 0}, {2, 3}).value()}};
  CHECK(run(net, inputs, "y") == std::vector<float>{11, 14, 1.5f, 2});
}

TEST_CASE("import: names of a second format survive") {
  const Net net = imported(kTwoLayers, {.disabled_passes = {"all"}});
  const Graph& graph = NetAccess::graph(net);
  REQUIRE(graph.layers().size() == 2);
  CHECK(graph.layers()[0].name == "r");
  CHECK(graph.layers()[1].sources == std::vector<std::string>{"y"});
  CHECK(graph.tensor(graph.outputs[0]).name == "y");
  CHECK(graph.tensor(graph.outputs[0]).shape.str() == "Nx2");
}

TEST_CASE("import: sizes that the user gives hold in a second format") {
  const Net net = imported(kSum, {.shapes = {{"a", {5, 2}}}});
  for (const TensorInfo& input : net.inputs()) CHECK(input.shape.str() == "5x2");
  CHECK_THAT(import_toy(kSum, {.shapes = {{"a", {5, 3}}}}).status().message(),
             Contains("5x3 does not fit"));
  CHECK_THAT(import_toy(kSum, {.shapes = {{"q", {5, 2}}}}).status().message(),
             Contains("no input 'q'"));
}

TEST_CASE("import: constants that the user gives take the place of inputs of a second format") {
  const Tensor ten = Tensor::from(std::vector<float>{10, 20}, {1, 2}).value();
  const Net net = imported(kSum, {.constants = {{"b", ten}}});
  REQUIRE(net.inputs().size() == 1);
  const Tensor a = Tensor::from(std::vector<float>{1, 2}, {1, 2}).value();
  CHECK(run(net, {{"a", a}}, "y") == std::vector<float>{11, 22});
}

TEST_CASE("import: what a second format computes from constants is known at import") {
  const std::string text =
      "toy 1\n"
      "input x float32 N,3\n"
      "input k int64 1\n"
      "sqrt axis k\n"
      "mean_over y x axis\n"
      "output y\n";
  CHECK_THAT(import_toy(text).status().message(), Contains("its axis is not known"));
  const Tensor one = Tensor::from(std::vector<std::int64_t>{1}, {1}).value();
  const Net net = imported(text, {.constants = {{"k", one}}});
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 5, 6, 7}, {2, 3}).value();
  CHECK(run(net, {{"x", x}}, "y") == std::vector<float>{3, 4, 5});
}

TEST_CASE("import: all that is unsupported in a second format is reported at once") {
  const std::string text =
      "toy 1\n"
      "input x float32 N,3\n"
      "input z complex64 2\n"
      "constant k int64 1 0\n"
      "twist a x\n"
      "relu b a\n"         // behind a node that fails: not its fault
      "mean_over c a k\n"  // neither is what is not known of it
      "relu d z\n"
      "add e x\n"
      "output b\n"
      "output c\n"
      "output d\n"
      "output e\n";
  TemporaryFolder folder;
  const std::string path = folder.file("model.toy");
  std::ofstream(path) << text;
  const auto report = check_model(path, {}, formats_with_toy());
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(report->nodes == 5);
  REQUIRE(report->unsupported.size() == 4);
  CHECK(report->unsupported[0].node == "graph input 'z'");
  CHECK(report->unsupported[1].node == "a");
  CHECK(report->unsupported[1].op == "twist");
  CHECK(report->unsupported[1].types == "float32[Nx3]");
  CHECK(report->unsupported[1].reason == "there is no such operator");
  CHECK(report->unsupported[2].node == "d");
  CHECK_THAT(report->unsupported[2].reason, Contains("complex64"));
  CHECK(report->unsupported[3].reason == "input 1 is missing");

  const Status status = import_toy(text).status();
  CHECK(status.code() == StatusCode::unsupported);
  CHECK_THAT(status.message(), Contains("graph input 'z'") && Contains("3 more"));
  const Status of_node = import_toy("toy 1\ninput x float32 2\ntwist y x\noutput y\n").status();
  CHECK(of_node.message() == "node 'y' (twist; inputs float32[2]): there is no such operator");
}

TEST_CASE("import: models of a second format that contradict themselves") {
  const auto refusal = [](const std::string& lines) {
    const Status status = import_toy("toy 1\ninput x float32 2\n" + lines).status();
    CHECK(status.code() == StatusCode::invalid_model);
    return status.message();
  };
  CHECK_THAT(refusal("relu y q\noutput y\n"), Contains("'q', which nothing before it gives"));
  CHECK_THAT(refusal("relu y x\nrelu y x\noutput y\n"), Contains("given already"));
  CHECK_THAT(refusal("relu y x\noutput z\n"), Contains("nothing gives the graph output 'z'"));
  CHECK_THAT(refusal("relu y x\n"), Contains("no outputs"));
  CHECK_THAT(refusal("input x float32 2\nrelu y x\noutput y\n"), Contains("given twice"));
}

TEST_CASE("import: formats are told apart by content, and those that are known are named") {
  const std::string toy = kTwoLayers, onnx = small_model().bytes(), other = "toy 2\n";
  CHECK(import_net(std::as_bytes(std::span(onnx)), "", {}, {}, formats_with_toy()).ok());
  CHECK_THAT(import_toy(other).status().message(), Contains("(ONNX, toy)"));
  // The table of the library stays as it is.
  const Status unknown = Net::import_memory(toy.data(), toy.size()).status();
  CHECK(unknown.code() == StatusCode::invalid_model);
  CHECK_THAT(unknown.message(), Contains("(ONNX)"));
}
