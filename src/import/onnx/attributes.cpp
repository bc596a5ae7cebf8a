#include "import/onnx/attributes.h"

#include <algorithm>

namespace softneuro::onnx {
namespace {

const char* kind_name(std::int32_t kind) {
  constexpr const char* names[] = {"nothing",  "a number", "an integer", "a string",
                                   "a tensor", "a graph",  "numbers",    "integers",
                                   "strings",  "tensors",  "graphs",     "a sparse tensor"};
  return kind >= 0 && kind < static_cast<std::int32_t>(std::size(names)) ? names[kind]
                                                                         : "something unknown";
}

}  // namespace

const AttributeProto* Attributes::find(std::string_view name) const {
  for (const AttributeProto& attribute : proto_.attribute())
    if (attribute.name() == name) return scope_.resolve(attribute);
  return nullptr;
}

const AttributeProto* Attributes::expect(std::string_view name, std::int32_t kind) {
  const AttributeProto* attribute = find(name);
  // Models of the first IR versions do not say the kind.
  if (attribute == nullptr || attribute->type() == 0 || attribute->type() == kind) return attribute;
  failure_.reject("the attribute '{}' is {}, not {}", name, kind_name(attribute->type()),
                  kind_name(kind));
  return nullptr;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t fallback) {
  const AttributeProto* attribute = expect(name, 2);
  return attribute == nullptr ? fallback : attribute->i();
}

double Attributes::real(std::string_view name, double fallback) {
  const AttributeProto* attribute = expect(name, 1);
  return attribute == nullptr ? fallback : static_cast<double>(attribute->f());
}

std::string Attributes::text(std::string_view name, std::string_view fallback) {
  const AttributeProto* attribute = expect(name, 3);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

std::vector<std::int64_t> Attributes::integers(std::string_view name) {
  const AttributeProto* attribute = expect(name, 7);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> Attributes::reals(std::string_view name) {
  const AttributeProto* attribute = expect(name, 6);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> Attributes::texts(std::string_view name) {
  const AttributeProto* attribute = expect(name, 8);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::int64_t Attributes::required_integer(std::string_view name) {
  if (!has(name)) failure_.reject("the attribute '{}' is missing", name);
  return integer(name, 0);
}

std::vector<std::int64_t> Attributes::required_integers(std::string_view name) {
  if (!has(name)) failure_.reject("the attribute '{}' is missing", name);
  return integers(name);
}

Tensor Attributes::tensor_attribute(std::string_view name) {
  const AttributeProto* attribute = expect(name, 4);
  if (attribute == nullptr || !attribute->has_t()) {
    failure_.reject("the attribute '{}' is missing", name);
    return {};
  }
  Result<Tensor> value = reader_.read(attribute->t());
  if (value.ok()) return *std::move(value);
  failure_.fail(Status(value.status()).with_context(fmt::format("attribute '{}'", name)));
  return {};
}

DataType Attributes::data_type(std::string_view name, std::int64_t fallback) {
  return failure_.take(element_type(integer(name, fallback)));
}

std::string Attributes::choice(std::string_view name, std::string_view fallback,
                               std::initializer_list<std::string_view> allowed) {
  std::string chosen = text(name, fallback);
  if (std::find(allowed.begin(), allowed.end(), chosen) == allowed.end())
    failure_.refuse("the attribute '{}' is '{}', which is not known", name, chosen);
  return chosen;
}

}  // namespace softneuro::onnx
