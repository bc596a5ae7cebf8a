// What a sound model becomes.
#include <catch2/catch.hpp>

#include "core/graph/layer_type.h"
#include "import/onnx_model.h"
#include "softneuro/net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

Graph imported(const OnnxModel& model) {
  Result<Graph> graph = model.import();
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  return *std::move(graph);
}

std::vector<std::string> layer_types(const Graph& graph) {
  std::vector<std::string> types;
  for (const Layer& layer : graph.layers()) types.push_back(layer.type->name);
  return types;
}

using Names = std::vector<std::string>;

Tensor floats(std::initializer_list<float> values, const Shape& shape) {
  Result<Tensor> tensor = Tensor::create(DataType::float32, shape);
  std::copy(values.begin(), values.end(), tensor->mutable_values<float>().begin());
  return *std::move(tensor);
}

std::vector<float> run(const OnnxModel& model, const NamedTensors& inputs,
                       const std::string& output) {
  const std::string bytes = model.bytes();
  const Result<Net> net = Net::import_memory(bytes.data(), bytes.size());
  INFO(net.status().message());
  REQUIRE(net.ok());
  const Result<NamedTensors> results = net->run(inputs);
  INFO(results.status().message());
  REQUIRE(results.ok());
  const auto values = results->at(output).values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("onnx: names of nodes and values survive") {
  const Graph graph = imported(small_model());
  CHECK(graph.name == "test");
  REQUIRE(graph.layers().size() == 2);
  CHECK(graph.layers()[0].name == "first");
  CHECK(graph.layers()[0].sources == Names{"first"});
  CHECK(graph.layers()[1].name == "Add_1");  // unnamed: operator and place
  CHECK(graph.layers()[1].sources == Names{"Add_1"});
  for (const char* name : {"x", "b", "r", "y"}) CHECK(graph.find_tensor(name) != kNoTensor);
  REQUIRE(graph.inputs.size() == 1);
  REQUIRE(graph.outputs.size() == 1);
  CHECK(graph.tensor(graph.outputs[0]).name == "y");
  CHECK(graph.tensor(graph.outputs[0]).shape.str() == "2x3");
  CHECK(graph.tensor(graph.find_tensor("b")).is_constant());
}

TEST_CASE("onnx: equal node names are told apart") {
  OnnxModel model;
  model.input("x", {1});
  model.node("Relu", {"x"}, {"a"}).name("same");
  model.node("Relu", {"a"}, {"b"}).name("same");
  model.output("b");
  const Graph graph = imported(model);
  REQUIRE(graph.layers().size() == 2);
  CHECK(graph.layers()[0].name == "same");
  CHECK(graph.layers()[1].name == "same_1");
}

TEST_CASE("onnx: symbolic dimensions keep their names") {
  OnnxModel model;
  model.input("x", {-1, 3});
  model.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  CHECK(graph.tensor(graph.outputs[0]).shape.str() == "batchx3");
}

TEST_CASE("onnx: initialisers listed as inputs are constants") {
  OnnxModel model = small_model();
  model.proto.set_ir_version(3);
  model.input("b", {3});
  CHECK(imported(model).inputs.size() == 1);
}

TEST_CASE("onnx: constants, inputs and doubles as outputs") {
  OnnxModel model;
  model.input("x", {2});
  model.floats("c", {2}, {5, 6});
  model.node("Identity", {"x"}, {"same"});
  model.node("Identity", {"c"}, {"alias"});
  for (const char* name : {"c", "x", "same", "alias"}) model.output(name);
  const NamedTensors inputs{{"x", floats({1, 2}, {2})}};
  CHECK(run(model, inputs, "c") == std::vector<float>{5, 6});
  CHECK(run(model, inputs, "x") == std::vector<float>{1, 2});
  CHECK(run(model, inputs, "same") == std::vector<float>{1, 2});
  CHECK(run(model, inputs, "alias") == std::vector<float>{5, 6});
}

TEST_CASE("onnx: every form of constant node") {
  OnnxModel model(17);
  model.node("Constant", {}, {"a"}).real("value_float", 2.5f);
  model.node("Constant", {}, {"b"}).integer("value_int", 7);
  model.node("Constant", {}, {"c"}).integers("value_ints", {1, 2, 3});
  onnx::TensorProto& tensor = model.node("Constant", {}, {"d"}).tensor("value");
  tensor.set_data_type(kOnnxInt64);
  tensor.add_dims(1);
  tensor.add_int64_data(9);
  for (const char* name : {"a", "b", "c", "d"}) model.output(name);
  const Graph graph = imported(model);
  CHECK(graph.tensor(graph.outputs[0]).shape.str() == "scalar");
  CHECK(graph.tensor(graph.outputs[1]).type == DataType::int64);
  CHECK(graph.tensor(graph.outputs[2]).shape.str() == "3");
  CHECK(graph.tensor(graph.outputs[3]).shape.str() == "1");
}

TEST_CASE("onnx: a matrix product with one bias per column is a dense layer") {
  for (const bool exotic : {false, true}) {
    OnnxModel model;
    model.input("x", {1, 2});
    model.floats("w", {2, 2}, {1, 2, 3, 4});
    model.floats("b", {1, 2}, {10, 20});
    OnnxNode gemm = model.node("Gemm", {"x", "w", "b"}, {"y"});
    if (exotic) gemm.real("alpha", 2).integer("transB", 1).name("gemm");
    model.output("y");
    const std::vector<std::string> types = layer_types(imported(model));
    CHECK((std::find(types.begin(), types.end(), "dense") != types.end()) == !exotic);
    const std::vector<float> expected =
        exotic ? std::vector<float>{20, 42} : std::vector<float>{17, 30};
    CHECK(run(model, {{"x", floats({1, 2}, {1, 2})}}, "y") == expected);
  }
}

TEST_CASE("onnx: softmax before operator set 13 works on a matrix") {
  OnnxModel model(11);
  model.input("x", {1, 2, 2});
  model.node("Softmax", {"x"}, {"y"});
  model.output("y");
  const std::vector<float> y = run(model, {{"x", floats({0, 0, 0, 0}, {1, 2, 2})}}, "y");
  CHECK(y == std::vector<float>{0.25f, 0.25f, 0.25f, 0.25f});
}

TEST_CASE("onnx: operands aligned at an axis in operator set 6") {
  OnnxModel model(6, 3);
  model.input("x", {1, 2, 2});
  model.floats("b", {2}, {10, 20});
  model.node("Add", {"x", "b"}, {"y"}).integer("broadcast", 1).integer("axis", 1);
  model.output("y");
  const std::vector<float> y = run(model, {{"x", floats({1, 2, 3, 4}, {1, 2, 2})}}, "y");
  CHECK(y == std::vector<float>{11, 12, 23, 24});
}

TEST_CASE("onnx: functions of the model are expanded in place") {
  OnnxModel model;
  model.input("x", {2});
  model.node("Scaled", {"x"}, {"y"}).domain("own").name("call").real("by", 3);
  model.output("y");
  model.proto.add_opset_import()->set_domain("own");
  onnx::FunctionProto& function = *model.proto.add_functions();
  function.set_name("Scaled");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("by");
  function.add_opset_import()->set_version(17);
  add_node(function, "Constant", {}, {"factor"}).reference("value_float", "by", 1);
  add_node(function, "Mul", {"a", "factor"}, {"b"});
  const Graph graph = imported(model);
  REQUIRE(graph.layers().size() == 1);
  CHECK(graph.layers()[0].name == "call/Mul_1");
  CHECK(run(model, {{"x", floats({1, 2}, {2})}}, "y") == std::vector<float>{3, 6});
}

TEST_CASE("onnx: a condition that follows from shapes picks its branch") {
  OnnxModel model;
  model.input("x", {2, 1});
  model.int64s("one", {}, {1});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "one"}, {"columns"});
  model.node("Equal", {"columns", "one"}, {"single"});
  OnnxNode choice = model.node("If", {"single"}, {"y"});
  onnx::GraphProto& yes = choice.graph("then_branch");
  add_node(yes, "Neg", {"x"}, {"a"});
  yes.add_output()->set_name("a");
  onnx::GraphProto& no = choice.graph("else_branch");
  add_node(no, "Relu", {"x"}, {"a"});
  no.add_output()->set_name("a");
  model.output("y");
  CHECK(run(model, {{"x", floats({1, 2}, {2, 1})}}, "y") == std::vector<float>{-1, -2});
}

TEST_CASE("onnx: an input that is given as a constant picks a branch, and the net has it no more") {
  OnnxModel model;
  model.input("x", {2});
  model.input("rate", {}, kOnnxInt64);
  model.int64s("wide", {}, {16000});
  model.node("Equal", {"rate", "wide"}, {"is_wide"});
  OnnxNode choice = model.node("If", {"is_wide"}, {"y"});
  for (const auto& [name, op] : {std::pair("then_branch", "Neg"), {"else_branch", "Relu"}}) {
    onnx::GraphProto& branch = choice.graph(name);
    add_node(branch, op, {"x"}, {"a"});
    branch.add_output()->set_name("a");
  }
  model.output("y");
  const std::string bytes = model.bytes();
  const auto import = [&](const std::string& name, const Tensor& value) {
    return Net::import_memory(bytes.data(), bytes.size(), {}, {.constants = {{name, value}}});
  };
  const auto output_at = [&](const Tensor& rate) {
    const Net net = import("rate", rate).value();
    REQUIRE(net.inputs().size() == 1);
    const Tensor y = net.run({{"x", floats({1, -2}, {2})}}).value().at("y");
    return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
  };
  const auto refusal = [&](const std::string& name, const Tensor& value) {
    return import(name, value).status().message();
  };
  CHECK(output_at(Tensor::from({std::int64_t{16000}}, Shape()).value()) ==
        std::vector<float>{-1, 2});
  CHECK(output_at(Tensor::from({8000.0f}, Shape{1}).value()) == std::vector<float>{1, 0});
  CHECK_THAT(refusal("rate", floats({0.5}, {1})), Catch::Contains("is int64: the constant 0.5"));
  CHECK_THAT(refusal("rate", floats({1, 2}, {2})), Catch::Contains("has the shape scalar"));
  CHECK_THAT(refusal("speed", floats({1}, {1})),
             Catch::Contains("no input 'speed'") && Catch::Contains("'x', 'rate'"));
}

TEST_CASE("onnx: a constant number is rounded to the type of a floating-point input") {
  OnnxModel model;
  model.input("x", {2});
  model.input("gain", {});
  model.node("Mul", {"x", "gain"}, {"y"});
  model.output("y");
  const std::string bytes = model.bytes();
  const auto import = [&](double gain) {
    return Net::import_memory(bytes.data(), bytes.size(), {},
                              {.constants = {{"gain", Tensor::from({gain}, Shape()).value()}}});
  };
  const Net net = import(0.3).value();
  const Tensor y = net.run({{"x", floats({1, 2}, {2})}}).value().at("y");
  CHECK(y.values<float>()[1] == 2 * 0.3f);
  CHECK_THAT(import(1e300).status().message(), Catch::Contains("does not fit"));
}

TEST_CASE("onnx: STFT gives the spectrum of each frame, with and without a window, of any signal") {
  OnnxModel model;
  model.input("x", {-1, -1});
  model.int64s("step", {}, {2});
  model.int64s("length", {}, {4});
  model.floats("window", {4}, {1, 1, 0, 0});
  model.node("STFT", {"x", "step", "", "length"}, {"half"});
  model.node("STFT", {"x", "step", "window"}, {"whole"}).integer("onesided", 0);
  model.output("half");
  model.output("whole");
  const NamedTensors x = {{"x", floats({1, 2, 3, 4, 0, 0}, {1, 6})}};
  const std::vector<float> half = run(model, x, "half"), whole = run(model, x, "whole");
  const std::vector<float> bins = {10, 0, -2, 2, -2, 0, 7, 0, 3, -4, -1, 0};
  const std::vector<float> windowed = {3, 0, 1, -2, -1, 0, 1, 2, 7, 0, 3, -4, -1, 0, 3, 4};
  CHECK_THAT(half, Catch::Matchers::Approx(bins).margin(1e-5));
  CHECK_THAT(whole, Catch::Matchers::Approx(windowed).margin(1e-5));
}

TEST_CASE("onnx: DFT along any axis, cut off and padded, and its inverse gives the signal again") {
  OnnxModel model(20);
  model.input("x", {4, 2, 1});
  model.int64s("axis", {}, {0});
  model.int64s("two", {}, {2});
  model.int64s("eight", {}, {8});
  model.node("DFT", {"x", "", "axis"}, {"spectrum"});
  model.node("DFT", {"spectrum", "", "axis"}, {"again"}).integer("inverse", 1);
  model.node("DFT", {"x", "two", "axis"}, {"short"});
  model.node("DFT", {"x", "eight", "axis"}, {"long"}).integer("onesided", 1);
  for (const char* output : {"spectrum", "again", "short", "long"}) model.output(output);
  const NamedTensors x = {{"x", floats({1, 0, 2, 0, 3, 0, 4, 1}, {4, 2, 1})}};
  const std::vector<float> spectrum = {10, 0, 1, 0, -2, 2, 0, 1, -2, 0, -1, 0, -2, -2, 0, -1};
  const std::vector<float> again = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 1, 0};
  const std::vector<float> cut = {3, 0, 0, 0, -1, 0, 0, 0};
  CHECK_THAT(run(model, x, "spectrum"), Catch::Matchers::Approx(spectrum).margin(1e-5));
  CHECK_THAT(run(model, x, "again"), Catch::Matchers::Approx(again).margin(1e-5));
  CHECK_THAT(run(model, x, "short"), Catch::Matchers::Approx(cut).margin(1e-5));
  const std::vector<float> padded = run(model, x, "long");
  REQUIRE(padded.size() == 5 * 2 * 2);
  CHECK(padded[4 * 4] == Approx(-2));  // bin 4 of 8: 1 − 2 + 3 − 4
}

TEST_CASE("onnx: MelWeightMatrix is a constant of triangles") {
  OnnxModel model;
  model.input("x", {1, 9});
  for (const auto& [name, value] : {std::pair("bands", 2), {"points", 16}, {"rate", 8000}})
    model.int64s(name, {}, {value});
  model.floats("low", {}, {0});
  model.floats("high", {}, {4000});
  model.node("MelWeightMatrix", {"bands", "points", "rate", "low", "high"}, {"w"});
  model.node("MatMul", {"x", "w"}, {"y"});
  model.output("y");
  CHECK(run(model, {{"x", floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 9})}}, "y") ==
        std::vector<float>{2, 6});
}

TEST_CASE("onnx: a list of sizes is cut like any other tensor, also from before its front") {
  for (const bool is_list : {true, false}) {
    OnnxModel model;
    model.input("x", {-1, -1});
    for (const auto& [name, value] :
         {std::pair("start", -3), {"end", -9}, {"axis", 0}, {"step", -1}})
      model.int64s(name, {1}, {value});
    model.node("Shape", {"x"}, {"sizes"});
    model.node("Cast", {"sizes"}, {"floats"}).integer("to", kOnnxFloat);
    model.node("Slice", {is_list ? "sizes" : "floats", "start", "end", "axis", "step"}, {"cut"});
    model.node("Cast", {"cut"}, {"y"}).integer("to", kOnnxFloat);
    model.output("y");
    CHECK(run(model, {{"x", floats({1, 2, 3}, {3, 1})}}, "y") == std::vector<float>{3});
  }
}

TEST_CASE("onnx: dropout's mask says that nothing is dropped") {
  OnnxModel model(13);
  model.input("x", {2});
  model.node("Dropout", {"x"}, {"y", "mask"});
  model.output("y");
  model.output("mask");
  const Graph graph = imported(model);
  CHECK(graph.tensor(graph.outputs[1]).type == DataType::boolean);
}

TEST_CASE("onnx: CenterCropPad takes sizes that are known at run time only") {
  OnnxModel model(18);
  model.input("x", {-1, 4});
  model.input("sizes", {1}, kOnnxInt64);
  model.node("CenterCropPad", {"x", "sizes"}, {"y"}).integers("axes", {-1});
  model.output("y");
  const Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  const auto sized = [&](std::int64_t size) {
    Tensor sizes = *Tensor::create(DataType::int64, {1});
    sizes.mutable_values<std::int64_t>()[0] = size;
    return run(model, {{"x", x}, {"sizes", sizes}}, "y");
  };
  CHECK(sized(1) == std::vector<float>{2, 6});
  CHECK(sized(4) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(sized(7) == std::vector<float>{0, 1, 2, 3, 4, 0, 0, 0, 5, 6, 7, 8, 0, 0});
}

TEST_CASE("onnx: CumProd is known from operator set 26 on") {
  OnnxModel model(26);
  model.input("x", {3});
  model.int64s("axis", {}, {0});
  model.node("CumProd", {"x", "axis"}, {"y"}).integer("exclusive", 1).integer("reverse", 1);
  model.output("y");
  CHECK(run(model, {{"x", floats({1, 2, 3}, {3})}}, "y") == std::vector<float>{6, 3, 1});
}

TEST_CASE(
    "onnx: nodes in any order are imported, and keep the order of the file where that will do") {
  OnnxModel model;
  model.input("x", {2});
  model.input("pick", {1}, kOnnxBool);
  model.node("Neg", {"c"}, {"y"}).name("last");
  model.node("Relu", {"x"}, {"a"}).name("first");
  model.node("Abs", {"x"}, {"unused"}).name("second");
  model.node("Add", {"a", "b"}, {"c"}).name("fourth");
  model.node("Exp", {"a"}, {"b"}).name("third");
  model.output("y");
  model.output("unused");
  const Graph graph = model.import().value();
  std::string order;
  for (const Layer& layer : graph.layers()) order += layer.name + ' ';
  CHECK(order == "first second third fourth last ");
}

TEST_CASE("onnx: a branch may use what a later node gives") {
  OnnxModel model;
  model.input("x", {2});
  OnnxNode branches = model.node("If", {"condition"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& branch = branches.graph(name);
    add_node(branch, "Neg", {"late"}, {"negative"});
    branch.add_output()->set_name("negative");
  }
  model.node("Relu", {"x"}, {"late"});
  model.node("Constant", {}, {"condition"}).tensor("value").set_data_type(kOnnxBool);
  model.graph().mutable_node(2)->mutable_attribute(0)->mutable_t()->add_int32_data(1);
  model.output("y");
  CHECK(model.import().status().message() == "");
}
