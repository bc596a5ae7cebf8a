// softneuro compare --model: a net against the model that it was made from.
#include <catch2/catch.hpp>

#include "core/dnn/file.h"
#include "net/net_access.h"
#include "npy.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// The small net as a file; with other weights in its last layer, if `altered`.
std::string written(const TemporaryFolder& folder, const char* name, bool altered) {
  Graph graph = small_graph();
  if (altered) {
    TensorDef& weights = graph.tensor(graph.find_tensor("fc.w"));
    Tensor other = weights.constant.clone().value();
    for (float& value : other.mutable_values<float>()) value *= 1.01f;
    weights.constant = other;
  }
  const std::string path = folder.file(name);
  REQUIRE(NetAccess::from_graph(std::move(graph), {}).value().save(path).ok());
  return path;
}

}  // namespace

TEST_CASE("compare --model: a tuned net answers as its model, one with other weights does not",
          "[compare]") {
  const TemporaryFolder folder;
  const std::string model = written(folder, "model.dnn", false);
  const std::string tuned = folder.file("tuned.dnn");
  const std::string at = folder.path().string();
  run_tool({"tune", model, "-o", tuned, "--cache", at, "--json"}, {}, at);
  const nlohmann::json same = run_tool({"compare", tuned, "--model", model, "--json"}, {}, at);
  CHECK(same["same"] == true);
  CHECK(same["inputs"] == 3);
  CHECK(same["difference"] < 1e-3);

  const std::string other = written(folder, "other.dnn", true);
  ToolProcess differing({"compare", tuned, "--model", other}, {}, at);
  CHECK(differing.wait() == 1);
  CHECK(differing.errors().find("differs from the model at layer 'fc'") != std::string::npos);

  ToolProcess neither({"compare", tuned}, {}, at);
  CHECK(neither.wait() == 2);
}

TEST_CASE("compare --model, inspect --dot: --input and --shape come before the tuned sizes",
          "[compare]") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  const std::string model = folder.file("model.dnn"), tuned = folder.file("tuned.dnn");
  SmallNetBuilder b;
  const TensorId left = b.input("a", DynamicShape{Dim("N"), 4});
  const TensorId right = b.input("b", DynamicShape{Dim("N"), 4});
  b.graph.outputs = {b.unary("tanh", "tanh", b.add("sum", left, right))};
  REQUIRE(NetAccess::from_graph(std::move(b.graph), {}).value().save(model).ok());
  run_tool({"tune", model, "-o", tuned, "--cache", at, "--json"}, {}, at);  // N is 1

  for (const char* name : {"a.npy", "b.npy"})
    REQUIRE(write_npy(folder.file(name), random_image(1, {8, 4})).ok());
  const nlohmann::json given =
      run_tool({"compare", tuned, "--model", model, "--input", "a=" + folder.file("a.npy"),
                "b=" + folder.file("b.npy"), "--json"},
               {}, at);
  CHECK(given["inputs"] == 1);
  CHECK(given["synthetic_inputs"] == false);
  // The size of one input holds for the other, by its symbol.
  run_tool({"compare", tuned, "--model", model, "--shape", "a=8x4", "--json"}, {}, at);
  run_tool({"inspect", tuned, "--dot", folder.file("net.dot"), "--shape", "a=8x4", "--json"}, {},
           at);
  CHECK(read_file(folder.file("net.dot")).find("8x4") != std::string::npos);
}
