// softneuro compare --model fails for every model that the net was not made from.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "import/onnx_model.h"
#include "npy.h"
#include "softneuro/net.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Change = std::function<void(onnx::GraphProto&)>;

struct Family {
  const char* name;
  std::function<OnnxModel()> make;
  std::vector<std::pair<const char*, Change>> changes;  // each makes a wrong model
};

// Initialisers with numbers that no two of them share.
class Weights {
 public:
  explicit Weights(OnnxModel& model) : model_(model) {}
  std::string operator()(const std::string& name, std::initializer_list<std::int64_t> dims,
                         float scale = 0.3f) {
    onnx::TensorProto& tensor = model_.initializer(name, dims);
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    for (std::int64_t i = 0; i < count; ++i)
      tensor.add_float_data(scale * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1));
    return name;
  }

 private:
  OnnxModel& model_;
  std::mt19937 random_{11};
};

onnx::TensorProto& initializer(onnx::GraphProto& graph, const std::string& name) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer())
    if (tensor.name() == name) return tensor;
  throw std::runtime_error("there is no " + name);
}

onnx::NodeProto& node(onnx::GraphProto& graph, const std::string& output) {
  for (onnx::NodeProto& found : *graph.mutable_node())
    if (found.output(0) == output) return found;
  throw std::runtime_error("there is no " + output);
}

void set_attribute(onnx::NodeProto& changed, const std::string& name, float value) {
  for (onnx::AttributeProto& attribute : *changed.mutable_attribute())
    if (attribute.name() == name) attribute.set_f(value);
}

Change one_weight(const std::string& name, int at) {
  return [=](onnx::GraphProto& graph) {
    onnx::TensorProto& tensor = initializer(graph, name);
    tensor.set_float_data(at, tensor.float_data(at) * 1.01f);
  };
}

Change other_weights(const std::string& name) {
  return [=](onnx::GraphProto& graph) {
    onnx::TensorProto& tensor = initializer(graph, name);
    for (int i = 0; i < tensor.float_data_size(); ++i)
      tensor.set_float_data(i, 0.3f - tensor.float_data(i));
  };
}

// Two rows of a matrix change places.
Change permuted(const std::string& name, int row) {
  return [=](onnx::GraphProto& graph) {
    onnx::TensorProto& tensor = initializer(graph, name);
    for (int i = 0; i < row; ++i) {
      const float first = tensor.float_data(i);
      tensor.set_float_data(i, tensor.float_data(row + i));
      tensor.set_float_data(row + i, first);
    }
  };
}

Change then(const Change& first, const Change& second) {
  return [=](onnx::GraphProto& graph) {
    first(graph);
    second(graph);
  };
}

// Every inner tensor gets another name.
void rename(onnx::GraphProto& graph) {
  std::map<std::string, std::string> names;
  for (const onnx::NodeProto& each : graph.node())
    for (const std::string& name : each.output()) names[name] = name + "_renamed";
  for (const onnx::ValueInfoProto& output : graph.output()) names.erase(output.name());
  for (onnx::NodeProto& each : *graph.mutable_node()) {
    for (std::string& name : *each.mutable_output())
      if (names.count(name) > 0) name = names[name];
    for (std::string& name : *each.mutable_input())
      if (names.count(name) > 0) name = names[name];
  }
}

Change other_operator(const std::string& output, const std::string& op) {
  return [=](onnx::GraphProto& graph) { node(graph, output).set_op_type(op); };
}

// x → conv, norm, relu → conv, clip → pool → dense.
Family convolutions() {
  const auto make = [] {
    OnnxModel model;
    Weights weights(model);
    model.input("x", {1, 3, 12, 12});
    model.node("Conv", {"x", weights("w1", {8, 3, 3, 3})}, {"c1"}).integers("pads", {1, 1, 1, 1});
    model.floats("var", {8}, {1, 2, 1, 3, 1, 1, 2, 1});
    model
        .node("BatchNormalization",
              {"c1", weights("gain", {8}), weights("shift", {8}), weights("mean", {8}), "var"},
              {"n1"})
        .real("epsilon", 1e-3f);
    model.node("Relu", {"n1"}, {"r1"});
    model.node("Conv", {"r1", weights("w2", {8, 8, 3, 3}), weights("b2", {8})}, {"c2"})
        .integers("pads", {1, 1, 1, 1})
        .integers("strides", {1, 1});
    model.floats("low", {}, {-1});
    model.floats("high", {}, {1});
    model.node("Clip", {"c2", "low", "high"}, {"l2"});
    model.node("GlobalAveragePool", {"l2"}, {"p"});
    model.node("Flatten", {"p"}, {"f"});
    model.node("Gemm", {"f", weights("w3", {8, 5}), weights("b3", {5})}, {"y"});
    model.output("y");
    return model;
  };
  return {"convolutions",
          make,
          {{"other weights", other_weights("w1")},
           {"other weights and names", then(other_weights("w2"), rename)},
           {"permuted channels", permuted("w2", 72)},
           {"a weight of the first", one_weight("w1", 20)},
           {"a weight of the last", one_weight("w3", 7)},
           {"a bias", one_weight("b3", 2)},
           {"epsilon",
            [](onnx::GraphProto& graph) { set_attribute(node(graph, "n1"), "epsilon", 1e-5f); }},
           {"a limit", one_weight("high", 0)},
           {"strides",
            [](onnx::GraphProto& graph) {
              onnx::AttributeProto& strides = *node(graph, "c2").mutable_attribute(1);
              strides.set_ints(0, 2);
              strides.set_ints(1, 2);
            }},
           {"activation", other_operator("r1", "LeakyRelu")}}};
}

// x → dense, tanh → dense + x.
Family residual() {
  const auto make = [] {
    OnnxModel model;
    Weights weights(model);
    model.input("x", {4, 16});
    model.node("MatMul", {"x", weights("w1", {16, 16})}, {"m1"});
    model.node("Add", {"m1", weights("b1", {16})}, {"a1"});
    model.node("Tanh", {"a1"}, {"t1"});
    model.node("MatMul", {"t1", weights("w2", {16, 16})}, {"m2"});
    model.node("Add", {"m2", "x"}, {"s"});
    model.node("Relu", {"s"}, {"y"});
    model.output("y");
    return model;
  };
  return {"residual",
          make,
          {{"other weights", other_weights("w2")},
           {"permuted rows", permuted("w1", 16)},
           {"one weight", one_weight("w1", 100)},
           {"names and one weight", then(one_weight("w2", 3), rename)},
           {"residual", [](onnx::GraphProto& graph) { node(graph, "s").set_input(1, "a1"); }},
           {"function", other_operator("t1", "Sigmoid")},
           {"post-op", other_operator("y", "Tanh")}}};
}

// One head of attention and a norm.
Family attention() {
  const auto make = [] {
    OnnxModel model;
    Weights weights(model);
    model.input("x", {6, 8});
    model.node("MatMul", {"x", weights("wq", {8, 8})}, {"q"});
    model.node("MatMul", {"x", weights("wk", {8, 8})}, {"k"});
    model.node("MatMul", {"x", weights("wv", {8, 8})}, {"v"});
    model.node("Transpose", {"k"}, {"kt"}).integers("perm", {1, 0});
    model.node("MatMul", {"q", "kt"}, {"scores"});
    model.floats("scale", {}, {0.35f});
    model.node("Mul", {"scores", "scale"}, {"scaled"});
    model.node("Softmax", {"scaled"}, {"p"}).integer("axis", -1);
    model.node("MatMul", {"p", "v"}, {"o"});
    model.node("Add", {"o", "x"}, {"s"});
    model.node("LayerNormalization", {"s", weights("g", {8}), weights("b", {8})}, {"y"})
        .real("epsilon", 1e-5f);
    model.output("y");
    return model;
  };
  return {"attention",
          make,
          {{"other weights", other_weights("wk")},
           {"keys for queries",
            [](onnx::GraphProto& graph) {
              node(graph, "q").set_input(1, "wk");
              node(graph, "k").set_input(1, "wq");
            }},
           {"one weight", one_weight("wv", 9)},
           {"a gain", one_weight("g", 1)},
           {"scale", one_weight("scale", 0)},
           {"epsilon",
            [](onnx::GraphProto& graph) { set_attribute(node(graph, "y"), "epsilon", 2e-5f); }}}};
}

struct Tuning {
  const char* name;
  std::vector<std::string> options;
};

void write_model(const std::string& path, const OnnxModel& model) {
  write_file(path, model.bytes());
}

// A folder for --calibration.
std::string write_samples(const TemporaryFolder& folder, const OnnxModel& model) {
  const std::filesystem::path samples = folder.path() / "samples";
  std::filesystem::create_directory(samples);
  const auto& dims = model.proto.graph().input(0).type().tensor_type().shape();
  Shape shape;
  for (const auto& dim : dims.dim()) shape.push_back(dim.dim_value());
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::filesystem::path sample = samples / std::to_string(i);
    std::filesystem::create_directory(sample);
    REQUIRE(write_npy((sample / "x.npy").string(), random_image(i, shape)).ok());
  }
  return samples.string();
}

}  // namespace

TEST_CASE("compare --model: the right model passes, every wrong one fails", "[compare][slow]") {
  const Family family = GENERATE(convolutions(), residual(), attention());
  const Tuning tuning = GENERATE(values<Tuning>({{"untuned", {}},
                                                 {"float32", {"--schemas", "cpu:float32"}},
                                                 {"16 bits", {"--schemas", "cpu"}},
                                                 {"8 bits", {"--schemas", "cpu:qint8"}}}));
  INFO(family.name << ", " << tuning.name);
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  const std::string right = folder.file("right.onnx"), net = folder.file("net.dnn");
  OnnxModel model = family.make();
  write_model(right, model);
  if (tuning.options.empty()) {
    run_tool({"import", right, "-o", net, "--json"}, {}, at);
  } else {
    std::vector<std::string> command = {"tune", right,    "-o",        net, "--cache",
                                        at,     "--json", "--threads", "1"};
    command.insert(command.end(), tuning.options.begin(), tuning.options.end());
    command.insert(command.end(), {"--calibration", write_samples(folder, model)});
    run_tool(command, {}, at);
  }
  const nlohmann::json same = run_tool({"compare", net, "--model", right, "--json"}, {}, at);
  CHECK(same["same_graph"] == true);
  OnnxModel renamed = family.make();
  rename(renamed.graph());
  const std::string wrong = folder.file("wrong.onnx");
  write_model(wrong, renamed);  // which is not wrong
  run_tool({"compare", net, "--model", wrong, "--json"}, {}, at);

  for (const auto& [name, change] : family.changes) {
    INFO(name);
    OnnxModel changed = family.make();
    change(changed.graph());
    write_model(wrong, changed);
    ToolProcess process({"compare", net, "--model", wrong}, {}, at);
    CHECK(process.wait() == 1);
    CHECK_THAT(process.errors(), Catch::Contains("differs from the model"));
  }
  for (const Family& other : {convolutions(), residual(), attention()}) {
    if (other.name == std::string(family.name)) continue;
    INFO("the model of " << other.name);
    write_model(wrong, other.make());
    ToolProcess process({"compare", net, "--model", wrong}, {}, at);
    CHECK(process.wait() == 1);
  }
}
