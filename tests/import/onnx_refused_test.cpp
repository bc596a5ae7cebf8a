// What cannot be imported, and what is said about it.
#include <catch2/catch.hpp>

#include "import/onnx/operators.h"
#include "import/onnx_model.h"
#include "softneuro/net.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

namespace {

Status refusal(const OnnxModel& model) {
  const Result<Graph> graph = model.import();
  CHECK_FALSE(graph.ok());
  return graph.status();
}

}  // namespace

TEST_CASE("onnx: what is no model is said to be none") {
  CHECK_THAT(import_text("").status().message(), Contains("empty"));
  for (const char* text : {"hello, world", "{\"graph\": 1}", "PK\x03\x04",
                           "\x89"
                           "DNN\r\n"}) {
    const Status status = import_text(text).status();
    CHECK(status.code() == StatusCode::invalid_model);
    CHECK_THAT(status.message(), Contains("not an ONNX model"));
  }
  const Status missing = Net::import("/nonexistent/model.onnx").status();
  CHECK(missing.code() == StatusCode::not_found);
  CHECK_THAT(Net::import("/").status().message(), Contains("regular file"));
}

TEST_CASE("onnx: versions outside of the supported ones are named with these") {
  for (const int opset : {0, 5, 29, 1000}) {
    OnnxModel model = small_model();
    model.proto.mutable_opset_import(0)->set_version(opset);
    const Status status = refusal(model);
    CHECK(status.code() == StatusCode::unsupported);
    CHECK_THAT(status.message(), Contains("6 to 28"));
  }
  for (const int ir : {0, 2, 15}) {
    OnnxModel model = small_model();
    model.proto.set_ir_version(ir);
    CHECK_THAT(refusal(model).message(), Contains("IR version"));
  }
  OnnxModel model = small_model();
  model.proto.clear_opset_import();
  CHECK_THAT(refusal(model).message(), Contains("operator set"));
  model = small_model();
  model.proto.clear_graph();
  CHECK_THAT(refusal(model).message(), Contains("no graph"));
}

TEST_CASE("onnx: graphs that contradict themselves") {
  OnnxModel model = small_model();
  model.node("Relu", {"nobody"}, {"z"});
  CHECK_THAT(refusal(model).message(), Contains("'nobody'"));
  model = small_model();
  model.node("Relu", {"there"}, {"back"});
  model.node("Relu", {"back"}, {"there"});
  CHECK_THAT(refusal(model).message(), Contains("'there'"));
  model = small_model();
  model.node("Relu", {"x"}, {"y"});
  CHECK_THAT(refusal(model).message(), Contains("'y'"));
  model = small_model();
  model.output("nowhere");
  CHECK_THAT(refusal(model).message(), Contains("'nowhere'"));
  model = small_model();
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("twice"));
  model = small_model();
  model.graph().clear_output();
  CHECK_THAT(refusal(model).message(), Contains("no outputs"));
  model = small_model();
  model.floats("b", {3}, {1, 2, 3});
  CHECK_THAT(refusal(model).message(), Contains("'b'"));
  model = small_model();
  model.node("Relu", {"x", "x"}, {"z"});
  CHECK_THAT(refusal(model).message(), Contains("2 inputs"));
  model = small_model();
  model.node("Add", {"x", ""}, {"z"});
  CHECK_THAT(refusal(model).message(), Contains("input 1 is missing"));
  model = small_model();
  model.node("Concat", {"x", "x"}, {"z"}).text("axis", "one");
  CHECK_THAT(refusal(model).message(), Contains("'axis'"));
}

TEST_CASE("onnx: everything that is unsupported is listed at once") {
  OnnxModel model;
  model.input("x", {2, 3});
  model.node("Relu", {"x"}, {"a"});
  model.node("Frobnicate", {"a"}, {"b"}).name("strange");
  model.node("Relu", {"b"}, {"c"});  // behind a node that fails: not its fault
  model.node("GlobalAveragePool", {"c"}, {"d"});
  model.node("RandomNormalLike", {"d"}, {"e"}).name("random");
  model.node("Fused", {"e"}, {"f"}).domain("com.elsewhere").name("foreign");
  model.node("BatchNormalization", {"f", "a", "a", "a", "a"}, {"g"})
      .name("training")
      .integer("training_mode", 1);
  model.node("Gelu", {"g"}, {"h"}).name("newer");
  model.output("h");
  const Result<build::ImportReport> report = model.check();
  REQUIRE(report.ok());
  CHECK(report->opset == 17);
  CHECK(report->nodes == 8);
  REQUIRE(report->unsupported.size() == 5);
  CHECK(report->unsupported[0].node == "strange");
  CHECK(report->unsupported[0].op == "Frobnicate");
  CHECK(report->unsupported[0].types == "float32[2x3]");
  CHECK_THAT(report->unsupported[0].reason, Contains("not known"));
  CHECK(report->unsupported[1].node == "random");
  CHECK(report->unsupported[2].domain == "com.elsewhere");
  CHECK(report->unsupported[3].node == "training");
  CHECK_THAT(report->unsupported[4].reason, Contains("operator set 17"));

  const Status status = refusal(model);
  CHECK(status.code() == StatusCode::unsupported);
  CHECK_THAT(status.message(), Contains("'strange'") && Contains("Frobnicate") &&
                                   Contains("operator set 17") && Contains("4 more"));
}

TEST_CASE("onnx: values that are no tensors of known types") {
  OnnxModel model;
  model.input("x", {2}, kOnnxString);
  model.node("Identity", {"x"}, {"y"});
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("STRING"));
  model = OnnxModel();
  model.graph().add_input()->set_name("s");
  model.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  model.node("SequenceLength", {"s"}, {"y"});
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("sequences"));
  model = OnnxModel();
  model.input("x", {1, 1, 1, 1, 1, 1, 1, 1, 1});
  model.node("Identity", {"x"}, {"y"});
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("9 dimensions"));
  // An unusable initialiser is an error only where it is used.
  model = small_model();
  model.initializer("texts", {1}, kOnnxString).add_string_data("a");
  CHECK(model.import().ok());
  model.node("Identity", {"texts"}, {"z"});
  CHECK_THAT(refusal(model).message(), Contains("STRING"));
}

TEST_CASE("onnx: control flow that depends on data") {
  OnnxModel model;
  model.input("x", {2});
  model.input("flag", {}, kOnnxBool);
  OnnxNode choice = model.node("If", {"flag"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& branch = choice.graph(name);
    add_node(branch, "Neg", {"x"}, {"a"});
    branch.add_output()->set_name("a");
  }
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("control flow") && Contains("'flag'"));
  model = OnnxModel();
  model.input("x", {2});
  model.node("Loop", {"", "", "x"}, {"y"}).graph("body");
  model.output("y");
  CHECK_THAT(refusal(model).message(), Contains("control flow"));
}

TEST_CASE("onnx: functions without end") {
  OnnxModel model;
  model.input("x", {2});
  model.node("F0", {"x"}, {"y"}).domain("own");
  model.output("y");
  onnx::FunctionProto& endless = *model.proto.add_functions();
  endless.set_name("F0");
  endless.set_domain("own");
  endless.add_input("a");
  endless.add_output("b");
  add_node(endless, "F0", {"a"}, {"b"}).domain("own");
  CHECK_THAT(refusal(model).message(), Contains("nested"));

  // Ten calls of ten calls of ten calls…
  model.proto.clear_functions();
  for (int level = 0; level < 12; ++level) {
    onnx::FunctionProto& function = *model.proto.add_functions();
    function.set_name("F" + std::to_string(level));
    function.set_domain("own");
    function.add_input("v0");
    function.add_output("v10");
    function.add_opset_import()->set_version(17);
    for (int i = 0; i < 10; ++i) {
      const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
      OnnxNode call =
          add_node(function, level < 11 ? "F" + std::to_string(level + 1) : "Relu", {from}, {to});
      if (level < 11) call.domain("own");
    }
  }
  CHECK_THAT(model.import("", 1000).status().message(), Contains("more than 1000 nodes"));
}

TEST_CASE("onnx: the table of operators is in order") {
  for (const char* name : {"Conv", "LSTM", "Resize", "If", "Loop"})
    CHECK(onnx::find_operator(name, onnx::kNewestOpset) != nullptr);
  CHECK(onnx::find_operator("Conv", 0) == nullptr);
  CHECK(onnx::find_operator("Clip", 10)->import != onnx::find_operator("Clip", 11)->import);
}
