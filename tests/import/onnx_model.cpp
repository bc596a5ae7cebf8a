#include "import/onnx_model.h"

#include "core/base/error.h"
#include "import/onnx/onnx_import.h"

namespace softneuro::test {

onnx::AttributeProto& OnnxNode::attribute(const std::string& name, int kind) {
  onnx::AttributeProto& attribute = *proto_->add_attribute();
  attribute.set_name(name);
  attribute.set_type(kind);
  return attribute;
}

OnnxNode& OnnxNode::name(const std::string& value) {
  proto_->set_name(value);
  return *this;
}

OnnxNode& OnnxNode::domain(const std::string& value) {
  proto_->set_domain(value);
  return *this;
}

OnnxNode& OnnxNode::integer(const std::string& name, std::int64_t value) {
  attribute(name, 2).set_i(value);
  return *this;
}

OnnxNode& OnnxNode::integers(const std::string& name, std::vector<std::int64_t> values) {
  onnx::AttributeProto& list = attribute(name, 7);
  for (const std::int64_t value : values) list.add_ints(value);
  return *this;
}

OnnxNode& OnnxNode::real(const std::string& name, float value) {
  attribute(name, 1).set_f(value);
  return *this;
}

OnnxNode& OnnxNode::text(const std::string& name, const std::string& value) {
  attribute(name, 3).set_s(value);
  return *this;
}

OnnxNode& OnnxNode::reference(const std::string& name, const std::string& outer, int kind) {
  attribute(name, kind).set_ref_attr_name(outer);
  return *this;
}

onnx::TensorProto& OnnxNode::tensor(const std::string& name) {
  return *attribute(name, 4).mutable_t();
}

onnx::GraphProto& OnnxNode::graph(const std::string& name) {
  return *attribute(name, 5).mutable_g();
}

OnnxModel::OnnxModel(int opset, int ir_version) {
  proto.set_ir_version(ir_version);
  proto.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

void OnnxModel::input(const std::string& name, std::initializer_list<std::int64_t> dims, int type) {
  onnx::ValueInfoProto& info = *graph().add_input();
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::int64_t dim : dims) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (dim >= 0) added.set_dim_value(dim);
  }
}

void OnnxModel::output(const std::string& name) {
  graph().add_output()->set_name(name);
}

onnx::TensorProto& OnnxModel::initializer(const std::string& name,
                                          std::initializer_list<std::int64_t> dims, int type) {
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

void OnnxModel::floats(const std::string& name, std::initializer_list<std::int64_t> dims,
                       std::initializer_list<float> values) {
  onnx::TensorProto& tensor = initializer(name, dims);
  for (const float value : values) tensor.add_float_data(value);
}

void OnnxModel::int64s(const std::string& name, std::initializer_list<std::int64_t> dims,
                       std::initializer_list<std::int64_t> values) {
  onnx::TensorProto& tensor = initializer(name, dims, kOnnxInt64);
  for (const std::int64_t value : values) tensor.add_int64_data(value);
}

namespace {

Result<Graph> import_bytes(const std::string& bytes, const std::string& folder = {},
                           std::int64_t max_nodes = 1'000'000) {
  const ImportOptions options;
  const build::ModelSource source{std::as_bytes(std::span(bytes)), folder, options,
                                  default_allocator(), max_nodes};
  build::ModelBuilder builder(source);
  SN_RETURN_IF_ERROR(onnx::format().import(builder));
  return builder.take_graph();
}

}  // namespace

Result<Graph> OnnxModel::import(const std::string& folder, std::int64_t max_nodes) const {
  return import_bytes(bytes(), folder, max_nodes);
}

Result<build::ImportReport> OnnxModel::check() const {
  const std::string data = bytes();
  const ImportOptions options;
  const build::ModelSource source{std::as_bytes(std::span(data)), "", options, default_allocator()};
  build::ModelBuilder builder(source);
  SN_RETURN_IF_ERROR(onnx::format().import(builder));
  return builder.report();
}

Result<Graph> import_text(const std::string& bytes) {
  return import_bytes(bytes);
}

OnnxModel small_model() {
  OnnxModel model;
  model.input("x", {2, 3});
  model.floats("b", {3}, {1, 2, 3});
  model.node("Relu", {"x"}, {"r"}).name("first");
  model.node("Add", {"r", "b"}, {"y"});
  model.output("y");
  return model;
}

}  // namespace softneuro::test
