// What a node of the model says of itself.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/build/failure.h"
#include "import/build/graph_builder.h"
#include "import/onnx/tensor_reader.h"

namespace softneuro::onnx {

// What a list of nodes sees.
struct Scope : build::ValueScope {
  std::map<std::string, std::int64_t> opsets;  // by domain; the default one is ""
  std::unordered_map<std::string, const AttributeProto*> attributes;  // of the call
  std::unordered_map<std::string, const TypeProto*> hints;  // what the model says about its values

  // The attribute, or that of the call which it stands for; null if the call leaves it out.
  const AttributeProto* resolve(const AttributeProto& attribute) const {
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto it = attributes.find(attribute.ref_attr_name());
    return it == attributes.end() ? nullptr : it->second;
  }
};

// The attributes of a node. Left out: the fallback; of another kind: an error.
class Attributes {
 public:
  // `failure` takes the errors. All must outlive the attributes.
  Attributes(const NodeProto& proto, const Scope& scope, TensorReader& reader,
             build::Failure& failure)
      : proto_(proto), scope_(scope), reader_(reader), failure_(failure) {}

  // Null if it is left out.
  const AttributeProto* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<std::int64_t> integers(std::string_view name);
  std::vector<double> reals(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::int64_t required_integer(std::string_view name);
  std::vector<std::int64_t> required_integers(std::string_view name);
  Tensor tensor_attribute(std::string_view name);  // empty on error
  // The data type that an attribute names by number; fails for unknown ones.
  DataType data_type(std::string_view name, std::int64_t fallback);
  // As text(), which must be one of `allowed`.
  std::string choice(std::string_view name, std::string_view fallback,
                     std::initializer_list<std::string_view> allowed);
  TensorReader& reader() { return reader_; }

 private:
  const AttributeProto* expect(std::string_view name, std::int32_t kind);

  const NodeProto& proto_;
  const Scope& scope_;
  TensorReader& reader_;
  build::Failure& failure_;
};

}  // namespace softneuro::onnx
