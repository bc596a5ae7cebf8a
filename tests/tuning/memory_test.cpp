// TuneCriteria::max_memory: arena and packed weights of the tuned plan.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "net/net_access.h"
#include "small_net.h"
#include "softneuro/net.h"
#include "softneuro/session.h"
#include "softneuro/tune.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

// Convolutions that Winograd transforms with four times the weights, and tiles as workspace.
Net net_of_convolutions() {
  SmallNetBuilder b;
  TensorId x = b.input("image", {1, 32, 28, 28});
  for (int i = 0; i < 4; ++i) {
    const std::string name = "conv" + std::to_string(i);
    x = b.unary("relu", name + ".relu", b.conv(name, x, 32, 32, 3));
  }
  b.graph.outputs = {x};
  NetOptions options;
  options.threads = 1;
  return NetAccess::from_graph(std::move(b.graph), options).value();
}

TuneOptions options_in(const TemporaryFolder& folder) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  return options;
}

// Bytes of the smallest plan, which the message of a limit that no plan keeps names.
std::size_t smallest_plan(TuneOptions options) {
  options.criteria.max_memory = 1;
  const std::string message = net_of_convolutions().tune(options).status().message();
  const std::string before = "found takes ";
  const std::size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::stoul(message.substr(at + before.size()));
}

}  // namespace

TEST_CASE("memory: under a limit below what Winograd's plan takes, tuning finds another plan") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  for (int i = 0; i < 4; ++i)
    options.selection.pin["conv" + std::to_string(i)] = "cpu:float32:nhwc/wg";
  const std::size_t winograd = net_of_convolutions().tune(options).value().memory;
  options.selection.pin.clear();
  const std::size_t smallest = smallest_plan(options);
  REQUIRE(smallest > 0);
  REQUIRE(smallest < winograd);
  for (const double share : {1.0, 0.5, 0.0}) {
    Net net = net_of_convolutions();
    options.criteria.max_memory =
        smallest + static_cast<std::size_t>(share * static_cast<double>(winograd - smallest));
    const Result<TuneReport> report = net.tune(options);
    INFO(options.criteria.max_memory << " of " << winograd
                                     << " bytes: " << report.status().message());
    REQUIRE(report.ok());
    CHECK(report->memory <= options.criteria.max_memory);
  }
}

TEST_CASE("memory: the report of tuning names what the saved net takes") {
  const TemporaryFolder folder;
  Net tuned = net_of_convolutions();
  const std::size_t memory = tuned.tune(options_in(folder)).value().memory;
  const std::string file = (folder.path() / "tuned.dnn").string();
  REQUIRE(tuned.save(file).ok());
  NetOptions options;
  options.threads = 1;
  const Net net = Net::load(file, options).value();
  REQUIRE(net.prepare().ok());
  const MemoryReport report = net.memory_report();
  CHECK(report.arena + report.packed_weights == memory);
}

TEST_CASE("memory: a limit that no plan keeps is an error that names the smallest plan found") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  options.criteria.max_memory = 1000;
  Net net = net_of_convolutions();
  const Result<TuneReport> report = net.tune(options);
  REQUIRE(!report.ok());
  CHECK(report.status().code() == StatusCode::unsupported);
  CHECK_THAT(report.status().message(), Contains("at most 1000 bytes") && Contains("smallest"));
  CHECK(net.tuned_paths().empty());
}

TEST_CASE("memory: the smallest plan that the message names can be had, and all limits above it") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  Net net = net_of_convolutions();
  const std::size_t fastest = net_of_convolutions().tune(options).value().memory;
  const std::size_t smallest = smallest_plan(options);
  REQUIRE(smallest > 0);
  for (const double share : {0.0, 0.3, 0.6, 1.0}) {
    options.criteria.max_memory =
        smallest + static_cast<std::size_t>(
                       share * static_cast<double>(std::max(fastest, smallest) - smallest));
    const Result<TuneReport> report = net.tune(options);
    INFO(smallest << " | " << options.criteria.max_memory << ": " << report.status().message());
    REQUIRE(report.ok());
    CHECK(report->memory <= options.criteria.max_memory);
  }
}

TEST_CASE(
    "memory: with an error limit, 16 bits are found where 8 are too coarse and 32 too large") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  for (std::uint32_t s = 0; s < 10; ++s)
    options.calibration.push_back({{"image", random_image(s + 1, {1, 32, 28, 28})}});
  options.max_error = INFINITY;
  const auto tuned_in = [&](std::vector<std::string> schemas) {
    options.schemas = std::move(schemas);
    Net net = net_of_convolutions();
    Result<TuneReport> report = net.tune(options);
    INFO(report.status().message());
    REQUIRE(report.ok());
    return *std::move(report);
  };
  const TuneReport half = tuned_in({"cpu:float16"});
  const TuneReport eight = tuned_in({"cpu:qint8"});
  REQUIRE(half.error < eight.error / 4);
  REQUIRE(half.memory > eight.memory);
  options.max_error = 2 * half.error;
  options.criteria.max_memory = half.memory;
  const TuneReport both = tuned_in({"cpu:float32", "cpu:float16", "cpu:qint8"});
  CHECK(both.error <= 2 * half.error);
  CHECK(both.memory <= half.memory);
}
