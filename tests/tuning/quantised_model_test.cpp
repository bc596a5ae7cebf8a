// Models that bring a quantisation, tuned in 8 bits without samples.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/element.h"
#include "net/net_access.h"
#include "small_net.h"
#include "steady_warnings.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

TensorId number(Graph& graph, const std::string& name, DataType type, double value) {
  const Tensor scalar = Tensor::create(type, Shape{}).value();
  store(view_of(scalar), 0, value);
  return graph.add_constant(name, scalar);
}

// x, of integers → dequantize → convolution → quantize.
Graph with_integer_ends(DataType type) {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 16, 8, 8}));
  b.graph.tensor(x).type = type;
  const double middle = size_of(type) == 1 ? 128 : 32768;
  const TensorId scale = number(b.graph, "scale", DataType::float32, 0.05);
  const TensorId zero = number(b.graph, "zero", type, middle);
  const TensorId real = b.layer("dequantize", "first", {x, scale, zero});
  const TensorId y = b.conv("conv", real, 16, 16, 3);
  b.graph.outputs = {b.layer("quantize", "last", {y, scale, zero})};
  return *finished(std::move(b.graph));
}

TuneOptions eight_bits(const TemporaryFolder& folder) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.schemas = {"cpu:float32", "cpu:qint8"};
  return options;
}

}  // namespace

TEST_CASE("tune: 8-bit inputs and outputs say the ranges of the tensors beside them") {
  const TemporaryFolder folder;
  TuneOptions options = eight_bits(folder);
  options.selection.pin["conv"] = "cpu:qint8*";
  Net net = NetAccess::from_graph(with_integer_ends(DataType::uint8), {.threads = 1}).value();
  const auto x = std::pair("x", Tensor::create(DataType::uint8, Shape{1, 16, 8, 8}).value());
  for (std::int64_t i = 0; i < x.second.elements(); ++i)
    store(view_of(x.second), i, static_cast<double>(i * 37 % 256));
  const Tensor before = net.run({x})->begin()->second;
  const Result<TuneReport> report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(std::ranges::any_of(report->layers, [](const TunedLayer& row) {
    return row.layer == "conv" && row.routine.find("qint8") != std::string::npos;
  }));
  const Tensor after = net.run({x})->begin()->second;
  for (std::int64_t i = 0; i < before.elements(); ++i)
    CHECK(std::abs(load(view_of(before), i) - load(view_of(after), i)) <= 1);
}

TEST_CASE("tune: a model whose quantisation has no 8-bit ranges is tuned without 8 bits") {
  const TemporaryFolder folder;
  Net net = NetAccess::from_graph(with_integer_ends(DataType::uint16), {.threads = 1}).value();
  const Result<TuneReport> report = net.tune(eight_bits(folder));
  INFO(report.status().message());
  REQUIRE(report.ok());
  const std::vector<std::string> warnings = steady_warnings(*report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("8-bit routines are left out") && Contains("have no 8 bits"));
}

TEST_CASE("tune: 8 bits without samples are refused for a model that has no quantisation") {
  const TemporaryFolder folder;
  Net net = NetAccess::from_graph(small_graph(), {.threads = 1}).value();
  const Status status = net.tune(eight_bits(folder)).status();
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Contains("import a model that is quantised"));
}
