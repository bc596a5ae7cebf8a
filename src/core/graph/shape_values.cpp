#include "core/graph/shape_values.h"

#include <algorithm>
#include <cstring>

#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

// Longer tensors are data, not shapes.
constexpr std::int64_t kMaxElements = 256;

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
      tensor.elements() > kMaxElements)
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

// f(a, b) of two elements; symbols survive the neutral element and equality.
KnownInteger combine(BinaryOp op, const KnownInteger& a, const KnownInteger& b) {
  if (a.value && b.value) {
    // Sums and products of sizes stay far below this; beyond it, wrapping would matter.
    constexpr std::int64_t kLarge = std::int64_t{1} << 31;
    if (std::max({*a.value, -*a.value, *b.value, -*b.value}) >= kLarge &&
        (op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul))
      return {};
    return known(apply_integer(op, *a.value, *b.value));
  }
  const auto is = [](const KnownInteger& x, std::int64_t v) { return x.value && *x.value == v; };
  if (((op == BinaryOp::mul || op == BinaryOp::div) && is(b, 1)) ||
      ((op == BinaryOp::add || op == BinaryOp::sub) && is(b, 0)))
    return a;
  if ((op == BinaryOp::mul && is(a, 1)) || (op == BinaryOp::add && is(a, 0))) return b;
  // Symbols stand for sizes, which are never negative.
  const bool size_and_negative = (!a.symbol.empty() && b.value && *b.value < 0) ||
                                 (!b.symbol.empty() && a.value && *a.value < 0);
  if (op == BinaryOp::equal && size_and_negative) return known(0);
  return {};
}

bool is_supported(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::div ||
         op == BinaryOp::max || op == BinaryOp::min || op == BinaryOp::equal;
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
  if (layer.outputs.empty() || layer.outputs[0] == kNoTensor || !layer.post_ops.empty()) return;
  const TensorDef& def = graph_.tensor(layer.outputs[0]);
  if (!holds_shapes(def.type) || (def.shape.ranked() && def.shape.rank() > 1)) return;
  std::optional<ShapeValue> value = evaluate(layer);
  if (!value || static_cast<std::int64_t>(value->elements.size()) > kMaxElements) return;
  for (KnownInteger& element : value->elements)
    if (element.value && !fits(*element.value, def.type)) element = {};
  known_[layer.outputs[0]] = Known{*std::move(value), {}};
}

const ShapeValue* ShapeValues::input(const Layer& layer, std::size_t i) {
  return i < layer.own_inputs ? find(layer.inputs[i]) : nullptr;
}

std::optional<std::vector<std::int64_t>> ShapeValues::integers(const Layer& layer, std::size_t i) {
  const ShapeValue* value = input(layer, i);
  if (value == nullptr || !value->complete()) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const KnownInteger& element : value->elements) integers.push_back(*element.value);
  return integers;
}

std::optional<ShapeValue> ShapeValues::evaluate(const Layer& layer) {
  const std::string& type = layer.type->name;
  if (type == "shape") {
    const DynamicShape& shape = graph_.tensor(layer.inputs[0]).shape;
    if (!shape.ranked()) return std::nullopt;
    const std::int64_t rank = shape.rank();
    const auto clamp = [rank](std::int64_t i) {
      return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
    };
    ShapeValue value;
    for (std::int64_t i = clamp(layer.params.integer("start"));
         i < clamp(layer.params.integer("end", INT64_MAX)); ++i) {
      const Dim& dim = shape[static_cast<int>(i)];
      value.elements.push_back(dim.known() ? known(dim.value) : KnownInteger{{}, dim.symbol});
    }
    return value;
  }
  if (type == "size") {
    const DynamicShape& shape = graph_.tensor(layer.inputs[0]).shape;
    if (!shape.is_static() || shape.to_shape().elements() < 0) return std::nullopt;
    return ShapeValue{0, {known(shape.to_shape().elements())}};
  }
  if (type == "gather") return gather(layer);
  if (type == "slice") return slice(layer);
  if (type == "concat") return concat(layer);
  if (type == "reshape" || type == "squeeze" || type == "unsqueeze" || type == "flatten")
    return reshape(layer);
  if (type == "binary") return binary(layer);
  if (type == "where") return where(layer);
  if (type == "identity" || type == "cast") {
    const ShapeValue* x = input(layer, 0);
    if (x == nullptr) return std::nullopt;
    // Anything but 0 and 1 becomes 1 in a boolean: leave that to the routine.
    return *x;
  }
  if (type == "fill") {
    const auto shape = integers(layer, 0);
    const ShapeValue* one = input(layer, 1);
    if (!shape || shape->size() > 1 || one == nullptr || one->elements.size() != 1)
      return std::nullopt;
    const std::int64_t count = shape->empty() ? 1 : (*shape)[0];
    if (count < 0 || count > kMaxElements) return std::nullopt;
    return ShapeValue{static_cast<int>(shape->size()),
                      std::vector<KnownInteger>(static_cast<std::size_t>(count), one->elements[0])};
  }
  return std::nullopt;
}

std::optional<ShapeValue> ShapeValues::gather(const Layer& layer) {
  const ShapeValue* x = input(layer, 0);
  const ShapeValue* shape_of_indices = input(layer, 1);
  const auto indices = integers(layer, 1);
  const std::int64_t axis = layer.params.integer("axis");
  if (x == nullptr || x->rank != 1 || !indices || (axis != 0 && axis != -1)) return std::nullopt;
  const auto count = static_cast<std::int64_t>(x->elements.size());
  ShapeValue value;
  value.rank = shape_of_indices->rank;
  for (std::int64_t i : *indices) {
    if (i < 0) i += count;
    if (i < 0 || i >= count) return std::nullopt;
    value.elements.push_back(x->elements[static_cast<std::size_t>(i)]);
  }
  return value;
}

std::optional<ShapeValue> ShapeValues::slice(const Layer& layer) {
  const ShapeValue* x = input(layer, 0);
  const auto starts = integers(layer, 1), ends = integers(layer, 2);
  if (x == nullptr || x->rank != 1 || !starts || !ends || starts->size() != 1 || ends->size() != 1)
    return std::nullopt;
  std::int64_t step = 1;
  if (layer.own_inputs > 3 && layer.inputs[3] != kNoTensor) {
    const auto axes = integers(layer, 3);
    if (!axes || axes->size() != 1 || ((*axes)[0] != 0 && (*axes)[0] != -1)) return std::nullopt;
  }
  if (layer.own_inputs > 4 && layer.inputs[4] != kNoTensor) {
    const auto steps = integers(layer, 4);
    if (!steps || steps->size() != 1) return std::nullopt;
    step = (*steps)[0];
  }
  const auto count = static_cast<std::int64_t>(x->elements.size());
  if (step == 0 || step < -count - 1 || step > count + 1) return std::nullopt;
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
  const auto clamp = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + count : i, low, high);
  };
  ShapeValue value;
  const std::int64_t end = clamp((*ends)[0]);
  for (std::int64_t i = clamp((*starts)[0]); step > 0 ? i < end : i > end; i += step)
    value.elements.push_back(x->elements[static_cast<std::size_t>(i)]);
  return value;
}

std::optional<ShapeValue> ShapeValues::concat(const Layer& layer) {
  ShapeValue value;
  for (std::size_t i = 0; i < layer.own_inputs; ++i) {
    const TensorId id = layer.inputs[i];
    if (const ShapeValue* x = find(id); x != nullptr) {
      if (x->rank != 1) return std::nullopt;
      value.elements.insert(value.elements.end(), x->elements.begin(), x->elements.end());
      continue;
    }
    // Nothing is known of this piece but its length: the others keep their places.
    if (id == kNoTensor) return std::nullopt;
    const DynamicShape& shape = graph_.tensor(id).shape;
    if (!shape.is_static() || shape.rank() != 1 || shape[0].value > kMaxElements)
      return std::nullopt;
    value.elements.resize(value.elements.size() + static_cast<std::size_t>(shape[0].value));
    if (static_cast<std::int64_t>(value.elements.size()) > kMaxElements) return std::nullopt;
  }
  return value;
}

// Any change of shape between ranks 0 and 1 keeps the elements.
std::optional<ShapeValue> ShapeValues::reshape(const Layer& layer) {
  const ShapeValue* x = input(layer, 0);
  const DynamicShape& shape = graph_.tensor(layer.outputs[0]).shape;
  if (x == nullptr || !shape.is_static() ||
      shape.to_shape().elements() != static_cast<std::int64_t>(x->elements.size()))
    return std::nullopt;
  return ShapeValue{shape.rank(), x->elements};
}

std::optional<ShapeValue> ShapeValues::binary(const Layer& layer) {
  BinaryOp op{};
  const ShapeValue* a = input(layer, 0);
  const ShapeValue* b = input(layer, 1);
  if (a == nullptr || b == nullptr || !parse(layer.params.text("op"), op) || !is_supported(op))
    return std::nullopt;
  const std::size_t na = a->elements.size(), nb = b->elements.size();
  if (na != nb && na != 1 && nb != 1) return std::nullopt;
  ShapeValue value;
  value.rank = std::max(a->rank, b->rank);
  for (std::size_t i = 0; i < (na == 1 ? nb : na); ++i)
    value.elements.push_back(
        combine(op, a->elements[na == 1 ? 0 : i], b->elements[nb == 1 ? 0 : i]));
  return value;
}

std::optional<ShapeValue> ShapeValues::where(const Layer& layer) {
  const ShapeValue* values[3];
  std::size_t count = 1;
  ShapeValue result;
  result.rank = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    values[i] = input(layer, i);
    if (values[i] == nullptr) return std::nullopt;
    const std::size_t n = values[i]->elements.size();
    if (n != 1 && count != 1 && n != count) return std::nullopt;
    if (n != 1) count = n;
    result.rank = std::max(result.rank, values[i]->rank);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t k) {
      return values[k]->elements[values[k]->elements.size() == 1 ? 0 : i];
    };
    const KnownInteger condition = at(0);
    result.elements.push_back(!condition.value ? KnownInteger{}
                                               : at(*condition.value != 0 ? 1 : 2));
  }
  return result;
}

}  // namespace softneuro
