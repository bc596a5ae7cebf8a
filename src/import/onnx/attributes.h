// What a node of the model says of itself.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "import/onnx/graph_builder.h"
#include "import/onnx/tensor_reader.h"

namespace softneuro::onnx {

// Errors stick: the first one is kept, later calls do nothing harmful and give fallbacks, so that
// handlers read like descriptions and the importer asks once, after the handler, how it went.
class Failure {
 public:
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // The failure is for want of knowledge about an input, not for what the node is.
  bool lacks_knowledge() const { return lacks_knowledge_; }
  void fail(Status status, bool lacks_knowledge = false);
  template <class... A>
  void refuse(fmt::format_string<A...> format, A&&... args) {
    fail(unsupported(format, std::forward<A>(args)...));
  }
  template <class... A>
  void reject(fmt::format_string<A...> format, A&&... args) {
    fail(invalid_model(format, std::forward<A>(args)...));
  }
  // The value; an empty one if there is none, which is an error.
  template <class T>
  T take(Result<T> result) {
    if (result.ok()) return *std::move(result);
    fail(result.status());
    return T{};
  }

 private:
  Status status_;
  bool lacks_knowledge_ = false;
};

// The attributes of a node. Left out: the fallback; of another kind: an error.
class Attributes : public Failure {
 public:
  Attributes(const NodeProto& proto, const Scope& scope, TensorReader& reader)
      : proto_(proto), scope_(scope), reader_(reader) {}

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
};

}  // namespace softneuro::onnx
