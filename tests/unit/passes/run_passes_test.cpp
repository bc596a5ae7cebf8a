#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Contains;

namespace {

// conv → batch norm → relu → identity, with a dead branch.
Graph small_net() {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 8, 8});
  TensorId y = b.layer("conv2", {x, b.random({4, 3, 3, 3})},
                       {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  y = b.layer("batch_norm",
              {y, b.random({4}), b.random({4}), b.random({4}), b.random({4}, 0.5, 2)});
  y = b.unary("relu", y);
  b.unary("exp", y);
  return b.finish({b.layer("identity", {y})});
}

}  // namespace

TEST_CASE("passes: all together on a small net") {
  const Graph graph = after_passes(small_net(), {}, {{"n", 2}});
  CHECK(outline(graph) == "conv2+relu");
  const Layer& conv = graph.layers()[0];
  CHECK(conv.name == "conv2");
  CHECK(std::set<std::string>(conv.sources.begin(), conv.sources.end()) ==
        std::set<std::string>{"conv2", "batch_norm", "unary", "identity"});
  CHECK(graph.tensor(conv.outputs[0]).name == "identity");
  CHECK(graph.applied_passes.size() == all_passes().size());
  CHECK(graph.applied_passes[0] == "remove_dead_layers/1");
}

TEST_CASE("passes: running them again finds nothing") {
  Graph graph = after_passes(small_net(), {}, {{"n", 1}});
  std::vector<PassReport> reports;
  REQUIRE(run_passes(graph, builtin_registry(), {}, &reports).ok());
  for (const PassReport& report : reports) CHECK(report.changes == 0);
  CHECK(graph.applied_passes.size() == all_passes().size());
}

TEST_CASE("passes: reports say what each one did") {
  Graph graph = small_net();
  std::vector<PassReport> reports;
  REQUIRE(run_passes(graph, builtin_registry(), {}, &reports).ok());
  REQUIRE(reports.size() == all_passes().size());
  const auto report = [&](const std::string& name) {
    return *std::find_if(reports.begin(), reports.end(),
                         [&](const PassReport& r) { return r.name == name; });
  };
  CHECK(report("remove_dead_layers").layers_before == 5);
  CHECK(report("fold_batch_norm").changes == 1);
  CHECK(report("fuse_post_ops").changes == 1);
  CHECK(report("fuse_post_ops").layers_after == 1);
  CHECK(report("fuse_gelu").changes == 0);
  CHECK(report("fuse_gelu").microseconds >= 0);
}

TEST_CASE("passes: each one can be switched off") {
  for (const Pass& pass : all_passes()) {
    Graph graph = small_net();
    PassOptions options;
    options.disabled = {pass.name};
    std::vector<PassReport> reports;
    REQUIRE(run_passes(graph, builtin_registry(), options, &reports).ok());
    CHECK(reports.size() + 1 == all_passes().size());
    for (const PassReport& report : reports) CHECK(report.name != pass.name);
  }
  Graph graph = small_net();
  PassOptions options;
  options.disabled = {"fold_batch_norm"};
  REQUIRE(run_passes(graph, builtin_registry(), options).ok());
  CHECK(outline(graph) == "conv2 batch_norm+relu");
}

TEST_CASE("passes: all of them can be switched off") {
  Graph graph = small_net();
  PassOptions options;
  options.disabled = {"all"};
  std::vector<PassReport> reports;
  REQUIRE(run_passes(graph, builtin_registry(), options, &reports).ok());
  CHECK(reports.empty());
  CHECK(graph.applied_passes.empty());
  CHECK(graph.layers().size() == small_net().layers().size());
}

TEST_CASE("passes: an unknown name is an error that lists the known ones") {
  Graph graph = small_net();
  PassOptions options;
  options.disabled = {"fuse_everything"};
  const Status status = run_passes(graph, builtin_registry(), options);
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Contains("fuse_everything") && Contains("fold_batch_norm"));
}

TEST_CASE("passes: the list is well formed") {
  std::set<std::string> names;
  for (const Pass& pass : all_passes()) {
    CHECK(names.insert(pass.name).second);
    CHECK(pass.version >= 1);
    CHECK(std::string(pass.doc).size() > 5);
    CHECK(pass.run != nullptr);
  }
}

TEST_CASE("passes: an error names the layer that contradicts its inputs") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId y = b.binary("add", x, b.random({3}));
  Graph graph = b.finish({y});
  graph.tensor(x).shape = {2, 4};
  CHECK_THAT(run_passes(graph, builtin_registry()).message(), Contains("layer 'binary'"));
}
