// TuneOptions::max_memory: arena and packed weights of the tuned plan.
#include <algorithm>
#include <catch2/catch.hpp>

#include "net/net_access.h"
#include "small_net.h"
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
  options.cache = folder.path().string();
  return options;
}

}  // namespace

TEST_CASE("memory: tuning under a limit gives a plan within it, and reports what the plan takes") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  const std::size_t free = net_of_convolutions().tune(options).value().memory;
  REQUIRE(free > 0);
  std::size_t last = free;
  for (const double share : {1.0, 0.7, 0.5}) {
    Net net = net_of_convolutions();
    options.max_memory = static_cast<std::size_t>(share * static_cast<double>(free));
    const Result<TuneReport> report = net.tune(options);
    INFO(options.max_memory << " of " << free << " bytes: " << report.status().message());
    if (!report.ok()) {  // the fastest plan may already be one of the smallest
      CHECK(report.status().code() == StatusCode::unsupported);
      CHECK(last > options.max_memory);
      continue;
    }
    CHECK(report->memory <= options.max_memory);
    last = report->memory;
    // What the report says is what the net's plan takes.
    const auto plan = net.plan({{"image", {1, 32, 28, 28}}}).value();
    CHECK(report->memory >= plan->arena_bytes());
  }
}

TEST_CASE("memory: a limit that no plan keeps is an error that names the smallest plan found") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  options.max_memory = 1000;
  Net net = net_of_convolutions();
  const Result<TuneReport> report = net.tune(options);
  REQUIRE(!report.ok());
  CHECK(report.status().code() == StatusCode::unsupported);
  CHECK_THAT(report.status().message(), Contains("at most 1000 bytes") && Contains("smallest"));
  CHECK(net.tuned_paths().empty());
}

TEST_CASE("memory: the smallest plan that the message names can be had") {
  const TemporaryFolder folder;
  TuneOptions options = options_in(folder);
  options.max_memory = 1;
  Net net = net_of_convolutions();
  const std::string message = net.tune(options).status().message();
  const std::size_t at = message.find("found takes ");
  REQUIRE(at != std::string::npos);
  options.max_memory = std::stoul(message.substr(at + std::string("found takes ").size()));
  const Result<TuneReport> report = net.tune(options);
  INFO(message << " | " << report.status().message());
  REQUIRE(report.ok());
  CHECK(report->memory <= options.max_memory);
}
