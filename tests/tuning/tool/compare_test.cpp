// softneuro compare --model: a net against the model that it was made from.
#include <catch2/catch.hpp>
#include <filesystem>

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
std::string written(const TemporaryFolder& folder, const char* name, bool altered,
                    const std::vector<std::string>& passes = {}, bool renamed = false) {
  Graph graph = small_graph();
  graph.applied_passes = passes;
  for (TensorId id = 0; renamed && id < graph.tensor_count(); ++id)
    if (!graph.is_input(id)) graph.rename_tensor(id, "other_" + graph.tensor(id).name);
  if (altered) {
    TensorDef& weights = graph.tensor(graph.find_tensor(renamed ? "other_fc.w" : "fc.w"));
    Tensor other = weights.constant.clone().value();
    for (float& value : other.mutable_values<float>()) value *= 1.01f;
    weights.constant = other;
  }
  const std::string path = folder.file(name);
  REQUIRE(NetAccess::from_graph(std::move(graph), {}).value().save(path).ok());
  return path;
}

}  // namespace

TEST_CASE(
    "compare --model: a tuned net computes what its model does, one with other weights does not",
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

TEST_CASE("compare --model: a net of passes of other versions is compared by what it computes",
          "[compare]") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  const std::string model = written(folder, "model.dnn", false);
  const bool renamed = GENERATE(false, true);
  const std::string older = written(folder, "older.dnn", false, {"fuse_post_ops/0"}, renamed);
  const nlohmann::json same = run_tool({"compare", older, "--model", model, "--json"}, {}, at);
  CHECK(same["same_graph"] == false);
  CHECK(same["unmatched"].empty() == !renamed);
  const std::string altered = written(folder, "altered.dnn", true, {"fuse_post_ops/0"}, renamed);
  ToolProcess differing({"compare", altered, "--model", model}, {}, at);
  CHECK(differing.wait() == 1);
  CHECK_THAT(differing.errors(), Catch::Contains("differs from the model"));
}

TEST_CASE("compare --reference: another shape differs, whatever its numbers", "[compare]") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  const std::string net = folder.file("net.dnn"), x = folder.file("x.npy"),
                    y = folder.file("y.npy");
  SmallNetBuilder b;
  const TensorId input = b.input("x", DynamicShape(Shape{1, 4}));
  b.graph.outputs = {b.unary("relu", "relu", input)};
  REQUIRE(NetAccess::from_graph(std::move(b.graph), {}).value().save(net).ok());
  Tensor ones = Tensor::create(DataType::float32, Shape{1, 4}).value();
  for (float& value : ones.mutable_values<float>()) value = 1;
  REQUIRE(write_npy(x, ones).ok());
  REQUIRE(write_npy(y, ones.reshaped(Shape{4}).value()).ok());
  const std::vector<std::string> command = {"compare", net, "--input", "x=" + x, "--reference"};
  const auto with = [&](const std::string& reference) {
    std::vector<std::string> all = command;
    all.push_back("relu:0=" + reference);
    return all;
  };
  ToolProcess flat(with(y), {}, at);
  CHECK(flat.wait() == 1);
  CHECK_THAT(flat.errors(), Catch::Contains("shape 1x4 against 4"));
  ToolProcess right(with(x), {}, at);
  CHECK(right.wait() == 0);
}

TEST_CASE("compare --reference: rounding of a net in 8 bits is not blamed on the model",
          "[compare]") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  const std::string model = written(folder, "model.dnn", false), tuned = folder.file("tuned.dnn");
  const std::string x = folder.file("x.npy"), y = folder.file("y.npy");
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::filesystem::path sample = folder.path() / "samples" / std::to_string(i);
    std::filesystem::create_directories(sample);
    REQUIRE(write_npy((sample / "image.npy").string(), random_image(i)).ok());
  }
  REQUIRE(write_npy(x, random_image(9)).ok());
  const Net float_net = Net::load(model).value();
  const NamedTensors exact = float_net.run({{"image", random_image(9)}}).value();
  Tensor expected = exact.at("fc:0");
  run_tool({"tune", model, "-o", tuned, "--cache", at, "--json", "--schemas", "cpu:qint8",
            "--calibration", folder.file("samples")},
           {}, at);
  REQUIRE(write_npy(y, expected).ok());
  const std::vector<std::string> command = {"compare",    tuned,         "--input",
                                            "image=" + x, "--reference", "fc:0=" + y};
  ToolProcess rounded(command, {}, at);
  CHECK(rounded.wait() == 1);
  CHECK_THAT(rounded.errors(), Catch::Contains("rounding to") && Catch::Contains("qint8") &&
                                   !Catch::Contains("model itself"));

  for (float& value : expected.mutable_values<float>()) value += 1;
  REQUIRE(write_npy(y, expected).ok());
  ToolProcess wrong(command, {}, at);
  CHECK(wrong.wait() == 1);
  CHECK_THAT(wrong.errors(), Catch::Contains("model itself does not match"));
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
