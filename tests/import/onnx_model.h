// Small ONNX models, built by hand.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "import/build/format.h"
#include "import/onnx/onnx.pb.h"

namespace softneuro::test {

// Element types of the format.
enum OnnxType : int {
  kOnnxFloat = 1,
  kOnnxUint8 = 2,
  kOnnxInt8 = 3,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxFloat16 = 10,
  kOnnxInt4 = 22
};

// A node whose attributes are added by chained calls.
class OnnxNode {
 public:
  explicit OnnxNode(onnx::NodeProto& proto) : proto_(&proto) {}
  OnnxNode& name(const std::string& value);
  OnnxNode& domain(const std::string& value);
  OnnxNode& integer(const std::string& name, std::int64_t value);
  OnnxNode& integers(const std::string& name, std::vector<std::int64_t> values);
  OnnxNode& real(const std::string& name, float value);
  OnnxNode& text(const std::string& name, const std::string& value);
  OnnxNode& reference(const std::string& name, const std::string& outer, int kind);
  onnx::TensorProto& tensor(const std::string& name);
  onnx::GraphProto& graph(const std::string& name);
  onnx::NodeProto& proto() { return *proto_; }

 private:
  onnx::AttributeProto& attribute(const std::string& name, int kind);
  onnx::NodeProto* proto_;
};

// Adds a node to a graph or to a function.
template <class Owner>
OnnxNode add_node(Owner& owner, const std::string& op, std::initializer_list<std::string> inputs,
                  std::initializer_list<std::string> outputs) {
  onnx::NodeProto& node = *owner.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return OnnxNode(node);
}

struct OnnxModel {
  onnx::ModelProto proto;

  explicit OnnxModel(int opset = 17, int ir_version = 8);
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  // A dimension of −1 is unknown.
  void input(const std::string& name, std::initializer_list<std::int64_t> dims,
             int type = kOnnxFloat);
  void output(const std::string& name);
  OnnxNode node(const std::string& op, std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs) {
    return add_node(graph(), op, inputs, outputs);
  }
  // An initialiser without data.
  onnx::TensorProto& initializer(const std::string& name, std::initializer_list<std::int64_t> dims,
                                 int type = kOnnxFloat);
  void floats(const std::string& name, std::initializer_list<std::int64_t> dims,
              std::initializer_list<float> values);
  void int64s(const std::string& name, std::initializer_list<std::int64_t> dims,
              std::initializer_list<std::int64_t> values);

  std::string bytes() const { return proto.SerializeAsString(); }
  Result<Graph> import(const std::string& folder = {}, std::int64_t max_nodes = 1'000'000) const;
  Result<build::ImportReport> check() const;
};

Result<Graph> import_text(const std::string& bytes);

// input x [2, 3] → Relu "first" → Add b → output y.
OnnxModel small_model();

}  // namespace softneuro::test
