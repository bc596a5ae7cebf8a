#include "import/build/given_inputs.h"

#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"

namespace softneuro::build {
namespace {

std::vector<std::string> names_of_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorId id : graph.inputs) names.push_back(graph.tensor(id).name);
  return names;
}

}  // namespace

Result<Tensor> constant_as(const std::string& name, const Tensor& given, const TensorDef& declared,
                           Allocator& allocator) {
  Shape shape = given.shape();
  if (given.elements() == 1 && declared.shape.ranked()) {
    shape = Shape();
    for (int i = 0; i < declared.shape.rank(); ++i) shape.push_back(1);
  }
  bool fits = !declared.shape.ranked() || declared.shape.rank() == shape.rank();
  for (int i = 0; fits && declared.shape.ranked() && i < shape.rank(); ++i)
    fits = !declared.shape[i].known() || declared.shape[i].value == shape[i];
  if (!fits)
    return invalid_argument("input '{}' has the shape {}: a constant of the shape {} does not fit",
                            name, declared.shape.str(), given.shape().str());
  if (given.data_type() == declared.type) {
    SN_ASSIGN_OR_RETURN(const Tensor copy, given.clone(allocator));
    return copy.reshaped(shape);
  }
  SN_ASSIGN_OR_RETURN(Tensor value, Tensor::create(declared.type, shape, allocator));
  const bool is_numeric = given.elements() == 1 && given.data_type() != DataType::qint8;
  if (is_numeric) {
    const TensorView from = view_of(given), to = view_of(value);
    if (is_float(given.data_type()) || is_float(declared.type))
      store(to, 0, load(from, 0));
    else
      store_integer(to, 0, load_integer(from, 0));
    const double wanted = load(from, 0), made = load(to, 0);
    const bool is_rounded = is_float(declared.type) && std::isfinite(made) == std::isfinite(wanted);
    if (is_rounded || made == wanted) return value;
  }
  return invalid_argument("input '{}' is {}: {} does not fit", name, to_string(declared.type),
                          is_numeric
                              ? fmt::format("the constant {}", load(view_of(given), 0))
                              : fmt::format("a constant of {}", to_string(given.data_type())));
}

Status fix_input_shapes(Graph& graph, const NamedShapes& shapes) {
  // Symbol → its size, and the input that it was first seen in.
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (const auto& [name, shape] : shapes) {
    const TensorId id = graph.find_tensor(name);
    if (id == kNoTensor || !graph.is_input(id))
      return make_error(StatusCode::not_found,
                        "the model has no input '{}' to give a shape to; its inputs are '{}'", name,
                        fmt::join(names_of_inputs(graph), "', '"));
    DynamicShape& declared = graph.tensor(id).shape;
    bool fits = !declared.ranked() || declared.rank() == shape.rank();
    for (int i = 0; fits && declared.ranked() && i < shape.rank(); ++i) {
      fits = !declared[i].known() || declared[i].value == shape[i];
      if (declared[i].known() || declared[i].symbol.empty()) continue;
      const auto& [size, input] =
          symbols.try_emplace(declared[i].symbol, shape[i], name).first->second;
      if (size != shape[i])
        return invalid_argument("input '{}': dimension '{}' is {} here and {} in input '{}'", name,
                                declared[i].symbol, shape[i], size, input);
    }
    if (!fits || shape.elements() < 0)
      return invalid_argument("input '{}' has the shape {}: {} does not fit", name, declared.str(),
                              shape.str());
    declared = DynamicShape(shape);
  }
  for (const TensorId id : graph.inputs)
    for (Dim& dim : graph.tensor(id).shape.dims())
      if (const auto known = symbols.find(dim.symbol); !dim.known() && known != symbols.end())
        dim = Dim(known->second.first);
  return {};
}

}  // namespace softneuro::build
