// Damaged and hostile models: any answer is good but a crash, and giant claims cost nothing.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "import/onnx_model.h"
#include "softneuro/net.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// Models with something of everything, for the blind tests.
std::vector<OnnxModel> victims() {
  std::vector<OnnxModel> models{small_model()};
  OnnxModel conv(13);
  conv.input("x", {1, 2, 4, 4});
  conv.initializer("w", {2, 1, 3, 3}).set_raw_data(std::string(72, '\x3f'));
  conv.node("Conv", {"x", "w"}, {"c"})
      .integers("kernel_shape", {3, 3})
      .integers("pads", {1, 1, 1, 1})
      .integer("group", 2);
  conv.node("MaxPool", {"c"}, {"p"}).integers("kernel_shape", {2, 2}).integers("strides", {2, 2});
  conv.int64s("shape", {2}, {1, -1});
  conv.node("Reshape", {"p", "shape"}, {"f"});
  conv.floats("k", {8, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8});
  conv.node("Gemm", {"f", "k"}, {"g"});
  conv.node("Softmax", {"g"}, {"y"}).integer("axis", 1);
  conv.output("y");
  models.push_back(conv);
  OnnxModel shapes(17);
  shapes.input("x", {3, -1});
  shapes.int64s("i", {1}, {1});
  shapes.node("Shape", {"x"}, {"s"});
  shapes.node("Gather", {"s", "i"}, {"n"});
  shapes.node("Concat", {"n", "i"}, {"t"}).integer("axis", 0);
  shapes.node("Expand", {"i", "t"}, {"e"});
  shapes.node("Slice", {"x", "i", "i", "i"}, {"l"});
  shapes.node("Split", {"x"}, {"p", "q"}).integer("axis", 1);
  shapes.node("Transpose", {"q"}, {"y"}).integers("perm", {1, 0});
  for (const char* name : {"y", "e", "l", "p"}) shapes.output(name);
  models.push_back(shapes);
  return models;
}

void import_whatever(const std::string& bytes) {
  const Result<Graph> graph = import_text(bytes);
  if (!graph.ok()) CHECK_FALSE(graph.status().message().empty());
}

std::string refusal(const OnnxModel& model, const std::string& folder = {}) {
  const Result<Graph> graph = model.import(folder);
  CHECK_FALSE(graph.ok());
  return graph.status().message();
}

// A model whose only constant is stored as `fill` says.
template <class Fill>
OnnxModel with_constant(Fill fill) {
  OnnxModel model;
  fill(*model.graph().add_initializer());
  model.graph().mutable_initializer(0)->set_name("c");
  model.node("Identity", {"c"}, {"y"});
  model.output("y");
  return model;
}

}  // namespace

TEST_CASE("onnx: a model cut off anywhere is refused") {
  for (const OnnxModel& model : victims()) {
    const std::string bytes = model.bytes();
    // A cut between two fields of the outermost message gives a smaller sound one.
    for (std::size_t length = 0; length < bytes.size(); ++length)
      import_whatever(bytes.substr(0, length));
  }
  const std::string bytes = small_model().bytes();
  CHECK_THAT(import_text(bytes.substr(0, bytes.size() / 2)).status().message(),
             Contains("truncated"));
}

TEST_CASE("onnx: no flipped bit crashes") {
  for (const OnnxModel& model : victims()) {
    std::string bytes = model.bytes();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      import_whatever(bytes);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
  }
}

TEST_CASE("onnx: sizes that the bytes do not bear out") {
  const auto dims = [](onnx::TensorProto& tensor, std::initializer_list<std::int64_t> list) {
    tensor.set_data_type(kOnnxFloat);
    for (const std::int64_t dim : list) tensor.add_dims(dim);
  };
  for (const std::initializer_list<std::int64_t>& shape :
       {std::initializer_list<std::int64_t>{1000000, 1000000},
        {kHuge, kHuge},
        {kHuge / 2, 4},
        {-1},
        {3},
        {1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    const std::string raw = refusal(with_constant([&](onnx::TensorProto& tensor) {
      dims(tensor, shape);
      tensor.set_raw_data(std::string(16, 'x'));
    }));
    CHECK_THAT(raw, Contains("'c'") || Contains("dimensions"));
    refusal(with_constant([&](onnx::TensorProto& tensor) {
      dims(tensor, shape);
      tensor.add_float_data(1);
    }));
  }
  // The logical size wraps to zero.
  refusal(with_constant([&](onnx::TensorProto& tensor) {
    dims(tensor, {std::int64_t{1} << 32, std::int64_t{1} << 32});
    tensor.set_raw_data("");
  }));
  // Data in the wrong field.
  refusal(with_constant([&](onnx::TensorProto& tensor) {
    dims(tensor, {2});
    tensor.add_int64_data(1);
    tensor.add_int64_data(2);
  }));
}

TEST_CASE("onnx: all forms of tensor data") {
  const auto read = [](auto fill) {
    const Result<Graph> graph = with_constant(fill).import();
    INFO(graph.status().message());
    REQUIRE(graph.ok());
    return graph->tensor(graph->find_tensor("c")).constant;
  };
  const Tensor half = read([](onnx::TensorProto& tensor) {
    tensor.set_data_type(kOnnxFloat16);
    tensor.add_dims(1);
    tensor.add_int32_data(0x3c00);
  });
  CHECK(to_float(half.values<Half>()[0]) == 1);
  const Tensor flags = read([](onnx::TensorProto& tensor) {
    tensor.set_data_type(kOnnxBool);
    tensor.add_dims(2);
    tensor.set_raw_data(std::string("\x00\x07", 2));
  });
  CHECK(static_cast<const std::uint8_t*>(flags.data())[1] == 1);
  const Tensor small = read([](onnx::TensorProto& tensor) {
    tensor.set_data_type(kOnnxInt4);
    tensor.add_dims(3);
    tensor.set_raw_data(std::string("\xf7\x08", 2));
  });
  REQUIRE(small.data_type() == DataType::int8);
  CHECK(small.values<std::int8_t>()[0] == 7);
  CHECK(small.values<std::int8_t>()[1] == -1);
  CHECK(small.values<std::int8_t>()[2] == -8);
}

TEST_CASE("onnx: sparse constants") {
  const auto sparse = [](std::initializer_list<std::int64_t> dims, std::int64_t index) {
    OnnxModel model;
    onnx::SparseTensorProto& tensor = *model.graph().add_sparse_initializer();
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    tensor.mutable_values()->set_name("c");
    tensor.mutable_values()->set_data_type(kOnnxFloat);
    tensor.mutable_values()->add_dims(1);
    tensor.mutable_values()->add_float_data(5);
    tensor.mutable_indices()->set_data_type(kOnnxInt64);
    tensor.mutable_indices()->add_dims(1);
    tensor.mutable_indices()->add_int64_data(index);
    model.node("Identity", {"c"}, {"y"});
    model.output("y");
    return model;
  };
  const Result<Graph> graph = sparse({2, 2}, 3).import();
  REQUIRE(graph.ok());
  const Tensor dense = graph->tensor(graph->find_tensor("c")).constant;
  CHECK(dense.values<float>()[3] == 5);
  CHECK(dense.values<float>()[0] == 0);
  CHECK_THAT(refusal(sparse({2, 2}, 4)), Contains("index 4"));
  CHECK_THAT(refusal(sparse({2, 2}, -1)), Contains("index -1"));
  CHECK_THAT(refusal(sparse({1000000, 1000000}, 0)), Contains("limit"));
  refusal(sparse({kHuge, kHuge}, 0));
}

TEST_CASE("onnx: attributes at their limits") {
  const auto extremes = {std::int64_t{0}, std::int64_t{-1}, kHuge, -kHuge - 1};
  for (const std::int64_t value : extremes) {
    for (const char* name : {"strides", "dilations", "kernel_shape", "pads", "group"}) {
      OnnxModel model = victims()[1];
      onnx::NodeProto& conv = *model.graph().mutable_node(0);
      conv.clear_attribute();
      OnnxNode node(conv);
      if (std::string(name) == "group")
        node.integer(name, value);
      else
        node.integers(name, std::vector<std::int64_t>(std::string(name) == "pads" ? 4 : 2, value));
      import_whatever(model.bytes());
    }
    for (const char* op :
         {"Softmax", "Flatten", "Concat", "Split", "ArgMax", "TopK", "DepthToSpace", "SpaceToDepth",
          "Gather", "LRN", "LayerNormalization", "Trilu", "Shape", "OneHot", "CumSum", "Transpose",
          "Squeeze", "ReduceMean"}) {
      OnnxModel model(11);
      model.input("x", {1, 4, 4, 4});
      model.int64s("i", {1}, {value});
      onnx::NodeProto& proto = *model.graph().add_node();
      proto.set_op_type(op);
      proto.add_input("x");
      if (std::string(op) != "Softmax" && std::string(op) != "Flatten") proto.add_input("i");
      proto.add_output("y");
      OnnxNode node(proto);
      for (const char* name : {"axis", "size", "blocksize", "start", "end", "k"})
        node.integer(name, value);
      node.integers("axes", {value, value}).integers("perm", {value}).integers("split", {value});
      model.output("y");
      import_whatever(model.bytes());
    }
  }
}

TEST_CASE("onnx: external data stays inside the model's folder") {
  const TemporaryFolder folder;
  const fs::path inside = fs::path(folder.path()) / "model";
  fs::create_directories(inside / "sub");
  const auto write = [](const fs::path& path, std::size_t bytes) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, '\x01');
  };
  write(fs::path(folder.path()) / "outside.bin", 64);
  write(inside / "weights.bin", 80);
  write(inside / "sub" / "weights.bin", 80);
  fs::create_symlink("../outside.bin", inside / "link.bin");
  fs::create_symlink("..", inside / "up");
  fs::create_hard_link(fs::path(folder.path()) / "outside.bin", inside / "hard.bin");
  REQUIRE(mkfifo((inside / "pipe").c_str(), 0600) == 0);

  const auto model = [](const std::string& location, const std::string& offset = "",
                        const std::string& length = "", std::int64_t dim = 4) {
    return with_constant([&](onnx::TensorProto& tensor) {
      tensor.set_data_type(kOnnxFloat);
      tensor.add_dims(dim);
      tensor.set_data_location(1);
      const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) return;
        onnx::StringStringEntryProto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      };
      add("location", location);
      add("offset", offset);
      add("length", length);
    });
  };
  const std::string base = inside.string();
  CHECK(model("weights.bin").import(base).ok());
  CHECK(model("sub/weights.bin", "64", "16").import(base).ok());
  CHECK(model("./sub//weights.bin", "3").import(base).ok());
  CHECK(model("weights.bin", "64").import(base).ok());

  for (const std::string& location :
       {std::string("../outside.bin"), std::string("sub/../../outside.bin"), std::string(".."),
        fs::absolute(inside / "weights.bin").string(), std::string("link.bin"),
        std::string("up/outside.bin"), std::string("hard.bin"), std::string("pipe"),
        std::string("sub"), std::string("missing.bin"), std::string(""), std::string("/"),
        std::string("weights.bin\0x", 13)}) {
    CAPTURE(location);
    refusal(model(location), base);
  }
  refusal(model("weights.bin", "65"), base);
  refusal(model("weights.bin", "80", "16"), base);
  refusal(model("weights.bin", "9223372036854775807"), base);
  refusal(model("weights.bin", "-16"), base);
  refusal(model("weights.bin", "1e3"), base);
  refusal(model("weights.bin", "99999999999999999999"), base);
  refusal(model("weights.bin", "0", "15"), base);
  refusal(model("weights.bin", "0", "80"), base);
  refusal(model("weights.bin", "", "", kHuge), base);
  refusal(model("weights.bin", "", "", 21), base);
  CHECK_THAT(refusal(model("weights.bin")), Contains("folder"));
}

TEST_CASE("onnx: deep nesting is refused") {
  OnnxModel model = small_model();
  onnx::GraphProto* graph = &model.graph();
  for (int i = 0; i < 200; ++i) {
    OnnxNode node = add_node(*graph, "If", {"x"}, {"v"});
    graph = &node.graph("then_branch");
  }
  CHECK_THAT(refusal(model), Contains("damaged"));
}
