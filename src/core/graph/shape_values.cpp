#include "core/graph/shape_values.h"

#include <algorithm>
#include <cstring>

#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

bool holds_shapes(DataType type) {
  return type == DataType::int64 || type == DataType::int32 || type == DataType::boolean;
}

KnownInteger known(std::int64_t value) {
  return {value, {}};
}

// Whether `value` is representable in `type`; results that are not are treated as unknown, so
// that wrapping needs no second definition here.
bool fits(std::int64_t value, DataType type) {
  switch (type) {
    case DataType::int64:
      return true;
    case DataType::int32:
      return value >= INT32_MIN && value <= INT32_MAX;
    case DataType::boolean:
      return value == 0 || value == 1;
    default:
      return false;
  }
}

std::optional<ShapeValue> value_of_constant(const Tensor& tensor) {
  if (!holds_shapes(tensor.data_type()) || tensor.shape().rank() > 1 ||
      tensor.elements() > ShapeValue::kMaxElements)
    return std::nullopt;
  ShapeValue value;
  value.rank = tensor.shape().rank();
  if (tensor.data_type() == DataType::boolean) {
    for (const bool b : tensor.values<bool>()) value.elements.push_back(known(b ? 1 : 0));
  } else if (const auto integers = integers_of(tensor)) {
    for (const std::int64_t v : *integers) value.elements.push_back(known(v));
  } else {
    return std::nullopt;
  }
  return value;
}

Tensor bytes_of(const ShapeValue& value, DataType type) {
  const auto count = static_cast<std::int64_t>(value.elements.size());
  Result<Tensor> tensor = Tensor::create(type, value.rank == 0 ? Shape{} : Shape{count});
  if (!tensor.ok()) return {};
  auto* bytes = static_cast<std::byte*>(tensor->mutable_data());
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    // Little-endian or not: narrow first, then copy.
    const std::int64_t wide = *value.elements[i].value;
    const auto narrow = static_cast<std::int32_t>(wide);
    const bool flag = wide != 0;
    const void* from = type == DataType::int64   ? static_cast<const void*>(&wide)
                       : type == DataType::int32 ? static_cast<const void*>(&narrow)
                                                 : static_cast<const void*>(&flag);
    std::memcpy(bytes + i * size, from, size);
  }
  return *std::move(tensor);
}

}  // namespace

bool ShapeValue::complete() const {
  return std::all_of(elements.begin(), elements.end(),
                     [](const KnownInteger& e) { return e.value.has_value(); });
}

const ShapeValue* ShapeValues::find(TensorId id) {
  if (id >= graph_.tensor_count()) return nullptr;
  if (const auto it = known_.find(id); it != known_.end()) return &it->second.value;
  const TensorDef& def = graph_.tensor(id);
  if (!def.is_constant()) return nullptr;
  std::optional<ShapeValue> value = value_of_constant(def.constant);
  if (!value) return nullptr;
  return &known_.emplace(id, Known{*std::move(value), def.constant}).first->second.value;
}

const Tensor* ShapeValues::tensor(TensorId id) {
  if (id < graph_.tensor_count() && graph_.tensor(id).is_constant())
    return &graph_.tensor(id).constant;
  const auto it = known_.find(id);
  if (it == known_.end() || !it->second.value.complete()) return nullptr;
  Known& entry = it->second;
  if (entry.bytes.empty()) entry.bytes = bytes_of(entry.value, graph_.tensor(id).type);
  return entry.bytes.empty() ? nullptr : &entry.bytes;
}

void ShapeValues::visit(const Layer& layer) {
  if (layer.type->known_values == nullptr) return;
  if (layer.outputs.empty() || layer.outputs[0] == kNoTensor || !layer.post_ops.empty()) return;
  const TensorDef& def = graph_.tensor(layer.outputs[0]);
  if (!holds_shapes(def.type) || (def.shape.ranked() && def.shape.rank() > 1)) return;
  std::optional<ShapeValue> value = layer.type->known_values(KnownInputs(*this, graph_, layer));
  if (!value || static_cast<std::int64_t>(value->elements.size()) > ShapeValue::kMaxElements)
    return;
  for (KnownInteger& element : value->elements)
    if (element.value && !fits(*element.value, def.type)) element = {};
  known_[layer.outputs[0]] = Known{*std::move(value), {}};
}

const ShapeValue* KnownInputs::value(std::size_t i) const {
  return has(i) ? values_.find(layer_.inputs[i]) : nullptr;
}

std::optional<ShapeValue> same_values(const KnownInputs& inputs) {
  const ShapeValue* x = inputs.value(0);
  return x == nullptr ? std::nullopt : std::optional(*x);
}

std::optional<std::vector<std::int64_t>> KnownInputs::integers(std::size_t i) const {
  const ShapeValue* known = value(i);
  if (known == nullptr || !known->complete()) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const KnownInteger& element : known->elements) integers.push_back(*element.value);
  return integers;
}

}  // namespace softneuro
