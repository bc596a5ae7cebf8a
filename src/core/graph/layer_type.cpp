#include "core/graph/layer_type.h"

#include <algorithm>

#include "core/base/element.h"

namespace softneuro {
namespace {

bool is_name_less(const std::unique_ptr<LayerType>& type, std::string_view name) {
  return type->name < name;
}

std::string names_of(const std::vector<ParamSpec>& specs) {
  std::string names;
  for (const ParamSpec& spec : specs) {
    if (!names.empty()) names += ", ";
    names += spec.name;
  }
  return names.empty() ? "no parameters" : names;
}

const ParamSpec* find_spec(const std::vector<ParamSpec>& specs, std::string_view name) {
  for (const ParamSpec& spec : specs)
    if (spec.name == name) return &spec;
  return nullptr;
}

// The declaration itself, so that a slip of a layer type's author shows at once.
Status check_declaration(const LayerType& type) {
  if (type.name.empty()) return invalid_argument("a layer type without a name");
  if (type.infer == nullptr) return invalid_argument("layer type '{}' has no infer", type.name);
  if (type.doc.empty()) return invalid_argument("layer type '{}' has no doc", type.name);
  for (const Arity& arity : {type.inputs, type.outputs})
    if (arity.min < 0 || !arity.allows(arity.min))
      return invalid_argument("layer type '{}': numbers of inputs or outputs make no sense",
                              type.name);
  const auto may_have = [&](std::size_t input) {
    return type.inputs.max == -1 || input < static_cast<std::size_t>(type.inputs.max);
  };
  for (const ValueInput& value : type.value_inputs)
    if (!may_have(value.input) || type.value_input(value.input) != &value)
      return invalid_argument(
          "layer type '{}': value input {} is declared twice or is not an input", type.name,
          value.input);
  if (type.weights && (type.weights->output_axis == nullptr || !may_have(type.weights->input)))
    return invalid_argument("layer type '{}': its weights are not an input or have no output_axis",
                            type.name);
  for (const ParamSpec& spec : type.params)
    if (spec.name.empty() || find_spec(type.params, spec.name) != &spec)
      return invalid_argument("layer type '{}': parameter '{}' is declared twice or has no name",
                              type.name, spec.name);
  return {};
}

// One dimension of a broadcast result; nothing if the two contradict each other.
std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.known() && a.value == 1) return b;
  if (b.known() && b.value == 1) return a;
  if (a.known() && b.known()) return std::nullopt;
  // One is unknown: at run time it is 1 or the other.
  if (a.known()) return a;
  if (b.known()) return b;
  return Dim{};
}

}  // namespace

bool same_shape(const DynamicShape& a, const DynamicShape& b) {
  return a.ranked() && b.ranked() && a.dims() == b.dims();
}

Result<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return invalid_argument("axis {} lies outside [{}, {}) of a tensor of rank {}", axis, -rank,
                            rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int>> distinct_axes(std::span<const std::int64_t> axes, int rank, int if_none,
                                       const char* names) {
  std::vector<int> distinct;
  std::vector<bool> used(static_cast<std::size_t>(rank), false);
  for (const std::int64_t given : axes) {
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, rank));
    if (used[static_cast<std::size_t>(axis)])
      return invalid_model("{} axis {} more than once", names, axis);
    used[static_cast<std::size_t>(axis)] = true;
    distinct.push_back(axis);
  }
  for (int i = 0; axes.empty() && i < if_none; ++i) distinct.push_back(i);
  return distinct;
}

Status infer_like_input(InferContext& context) {
  return context.set_shape(context.shape(0));
}

int input_of_same_shape(const InferContext& context) {
  return context.keeps_shape(0) ? 0 : -1;
}

Result<DynamicShape> broadcast(const DynamicShape& a, const DynamicShape& b) {
  if (!a.ranked() || !b.ranked()) return DynamicShape{};
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    std::optional<Dim> dim =
        broadcast_dim(ia < 0 ? Dim{std::int64_t{1}} : a[ia], ib < 0 ? Dim{std::int64_t{1}} : b[ib]);
    if (!dim) return invalid_argument("shapes {} and {} do not broadcast", a.str(), b.str());
    dims[static_cast<std::size_t>(i)] = *std::move(dim);
  }
  return DynamicShape(std::move(dims));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const std::int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      return invalid_argument("shapes {} and {} do not broadcast", a.str(), b.str());
    result.push_back(da == 1 ? db : da);
  }
  return result;
}

std::optional<std::vector<std::int64_t>> integers_of(const Tensor& tensor) {
  if (tensor.layout() != Layout::plain) return std::nullopt;
  if (tensor.data_type() == DataType::int64) {
    const auto values = tensor.values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor.data_type() == DataType::int32) {
    const auto values = tensor.values<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

// --- InferContext ------------------------------------------------------------------------------

std::optional<std::vector<std::int64_t>> InferContext::integers(std::size_t i) const {
  if (!has_input(i) || inputs_[i].value == nullptr) return std::nullopt;
  return integers_of(*inputs_[i].value);
}

std::optional<std::vector<KnownInteger>> InferContext::known_integers(std::size_t i) const {
  if (const auto values = integers(i)) {
    std::vector<KnownInteger> known;
    for (const std::int64_t value : *values) known.push_back({value, {}});
    return known;
  }
  if (!has_input(i) || inputs_[i].elements == nullptr) return std::nullopt;
  return *inputs_[i].elements;
}

bool InferContext::all_equal(std::size_t i, double value) const {
  if (!has_input(i)) return true;
  if (inputs_[i].value == nullptr) return false;
  const TensorView view = view_of(*inputs_[i].value);
  for (std::int64_t k = 0; k < view.elements(); ++k)
    if (load(view, k) != value) return false;
  return true;
}

Status InferContext::expect_rank(std::size_t i, int rank) const {
  if (!has_input(i)) return invalid_argument("input {} is missing", i);
  if (shape(i).ranked() && shape(i).rank() != rank)
    return invalid_argument("input {} must have rank {}, but its shape is {}", i, rank,
                            shape(i).str());
  return {};
}

Status InferContext::expect_min_rank(std::size_t i, int rank) const {
  if (!has_input(i)) return invalid_argument("input {} is missing", i);
  if (shape(i).ranked() && shape(i).rank() < rank)
    return invalid_argument("input {} must have at least rank {}, but its shape is {}", i, rank,
                            shape(i).str());
  return {};
}

Status InferContext::expect_type(std::size_t i, std::span<const DataType> allowed) const {
  if (!has_input(i)) return invalid_argument("input {} is missing", i);
  if (std::find(allowed.begin(), allowed.end(), type(i)) != allowed.end()) return {};
  std::string names;
  for (const DataType t : allowed) {
    if (!names.empty()) names += ", ";
    names += to_string(t);
  }
  return invalid_argument("input {} is {}; it must be one of: {}", i, to_string(type(i)), names);
}

Status InferContext::expect_same_type(std::size_t i, std::size_t j) const {
  for (const std::size_t k : {i, j})
    if (!has_input(k)) return invalid_argument("input {} is missing", k);
  if (type(i) != type(j))
    return invalid_argument("inputs {} and {} must have the same data type, but are {} and {}", i,
                            j, to_string(type(i)), to_string(type(j)));
  return {};
}

Status InferContext::expect_one_element(std::size_t i, const char* meaning) const {
  if (shape(i).is_static() && shape(i).to_shape().elements() != 1)
    return invalid_model("input {} ({}), {}, must hold one element", i, shape(i).str(), meaning);
  return {};
}

// --- LayerSizes ---------------------------------------------------------------------------------

double LayerSizes::elements(const Shape* shape) {
  return shape == nullptr ? 0 : static_cast<double>(shape->elements());
}

double LayerSizes::input_elements() const {
  double sum = 0;
  for (const Shape* shape : inputs) sum += elements(shape);
  return sum;
}

double LayerSizes::output_elements() const {
  double sum = 0;
  for (const Shape* shape : outputs) sum += elements(shape);
  return sum;
}

// --- LayerType, LayerTypes ---------------------------------------------------------------------

const ValueInput* LayerType::value_input(std::size_t i) const {
  for (const ValueInput& value : value_inputs)
    if (value.input == i) return &value;
  return nullptr;
}

Status LayerType::check_params(Params& given) const {
  for (const Params::Entry& entry : given.entries()) {
    const ParamSpec* spec = find_spec(params, entry.name);
    if (spec == nullptr)
      return invalid_model("layer type '{}' has no parameter '{}'; it knows: {}", name, entry.name,
                           names_of(params));
    if (kind_of(entry.value) != spec->kind())
      return invalid_model("parameter '{}' of layer type '{}' must be {}, but is {}", entry.name,
                           name, to_string(spec->kind()), to_string(kind_of(entry.value)));
  }
  for (const ParamSpec& spec : params) {
    if (given.has(spec.name)) continue;
    if (spec.required)
      return invalid_model("layer type '{}' needs the parameter '{}' ({})", name, spec.name,
                           spec.doc);
    given.set(spec.name, spec.default_value);
  }
  return {};
}

Status LayerTypes::add(LayerType type) {
  SN_RETURN_IF_ERROR(check_declaration(type));
  const auto it = std::lower_bound(types_.begin(), types_.end(), type.name, is_name_less);
  if (it != types_.end() && (*it)->name == type.name)
    return invalid_argument("layer type '{}' is registered twice", type.name);
  types_.insert(it, std::make_unique<LayerType>(std::move(type)));
  return {};
}

Status LayerTypes::add_all(std::initializer_list<LayerType> types) {
  for (const LayerType& type : types) SN_RETURN_IF_ERROR(add(type));
  return {};
}

const LayerType* LayerTypes::find(std::string_view name) const {
  const auto it = std::lower_bound(types_.begin(), types_.end(), name, is_name_less);
  return it != types_.end() && (*it)->name == name ? it->get() : nullptr;
}

std::vector<const LayerType*> LayerTypes::all() const {
  std::vector<const LayerType*> all;
  all.reserve(types_.size());
  for (const auto& type : types_) all.push_back(type.get());
  return all;
}

}  // namespace softneuro
