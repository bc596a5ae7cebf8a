// The layers that read at computed places: gather, gather_elements, gather_nd.
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
#include "core/graph/type_sets.h"
#include "core/layers/scatter.h"

namespace softneuro {
namespace {

Status infer_gather(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& indices = context.shape(1);
  DynamicShape y;
  if (x.ranked()) {
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
    if (indices.ranked()) {
      SN_RETURN_IF_ERROR(check_rank(x.rank() - 1 + indices.rank()));
      std::vector<Dim> dims = x.dims();
      const auto at = dims.erase(dims.begin() + axis);
      dims.insert(at, indices.dims().begin(), indices.dims().end());
      y = DynamicShape(std::move(dims));
    }
  }
  return context.set_shape(std::move(y));
}

Status infer_gather_elements(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& indices = context.shape(1);
  SN_RETURN_IF_ERROR(check_element_indices(context));
  DynamicShape y = indices;
  if (!y.ranked() && x.ranked()) {
    SN_ASSIGN_OR_RETURN(y, unknown_dims(x.rank()));
  }
  return context.set_shape(std::move(y));
}

// The batch dimensions come from either input; then those of indices but the last, which is the
// length of an index tuple; then those of x that the tuples leave.
Result<DynamicShape> gathered_nd(const DynamicShape& x, const DynamicShape& indices, int batch) {
  std::vector<Dim> dims;
  for (int i = 0; i < batch; ++i) {
    const std::optional<Dim> dim = merge_dims(x[i], indices[i]);
    if (!dim)
      return invalid_model("input 0 ({}) and indices ({}) differ in batch axis {}", x.str(),
                           indices.str(), i);
    dims.push_back(*dim);
  }
  const Dim& tuple = indices[indices.rank() - 1];
  if (!tuple.known()) return DynamicShape();
  if (tuple.value < 1 || tuple.value > x.rank() - batch)
    return invalid_model("indices are {}-tuples, but input 0 ({}) has {} axes behind batch_dims",
                         tuple.value, x.str(), x.rank() - batch);
  for (int i = batch; i < indices.rank() - 1; ++i) dims.push_back(indices[i]);
  for (int i = batch + static_cast<int>(tuple.value); i < x.rank(); ++i) dims.push_back(x[i]);
  SN_RETURN_IF_ERROR(check_rank(static_cast<std::int64_t>(dims.size())));
  return DynamicShape(std::move(dims));
}

Status infer_gather_nd(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  SN_RETURN_IF_ERROR(context.expect_min_rank(1, 1));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& indices = context.shape(1);
  const std::int64_t batch = context.params().integer("batch_dims");
  DynamicShape y;
  if (batch < 0 || (x.ranked() && batch >= x.rank()) ||
      (indices.ranked() && batch >= indices.rank()))
    return invalid_model("batch_dims is {}, must be in [0, rank) of both inputs", batch);
  if (x.ranked() && indices.ranked()) {
    SN_ASSIGN_OR_RETURN(y, gathered_nd(x, indices, static_cast<int>(batch)));
  }
  return context.set_shape(std::move(y));
}

// Elements of a list, picked one by one.
std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  const ShapeValue* x = inputs.value(0);
  const ShapeValue* places = inputs.value(1);
  const auto indices = inputs.integers(1);
  const std::int64_t axis = inputs.params().integer("axis");
  if (x == nullptr || x->rank != 1 || !indices || (axis != 0 && axis != -1)) return std::nullopt;
  const auto count = static_cast<std::int64_t>(x->elements.size());
  ShapeValue value;
  value.rank = places->rank;
  for (std::int64_t i : *indices) {
    if (i < 0) i += count;
    if (i < 0 || i >= count) return std::nullopt;
    value.elements.push_back(x->elements[static_cast<std::size_t>(i)]);
  }
  return value;
}

}  // namespace

Status check_element_indices(const InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const DynamicShape& indices = context.shape(1);
  if (!x.ranked() || !indices.ranked()) return {};
  if (x.rank() != indices.rank())
    return invalid_model("input 0 ({}) and indices ({}) differ in rank", x.str(), indices.str());
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis && x[i].known() && indices[i].known() && indices[i].value > x[i].value)
      return invalid_model("indices ({}) are larger than input 0 ({}) on axis {}", indices.str(),
                           x.str(), i);
  return {};
}

Status register_layer_gather(LayerTypes& types) {
  const ParamSpec axis = {"axis", 0, "axis of x that is indexed, in [−rank, rank)"};
  return types.add_all(
      {{.name = "gather",
        .doc = "Slices of x along one axis, picked by index; negative indices count from the end. "
               "Input 0: x, any type. Input 1: indices, int32 or int64, any shape. Output 0: "
               "x.shape[:axis] + indices.shape + x.shape[axis+1:].",
        .params = {axis},
        .inputs = {2, 2},
        .index_input = 1,
        .elements = ElementSource::input_0,
        .infer = infer_gather,
        .known_values = known_values},
       {.name = "gather_elements",
        .doc =
            "y[i, j, k] = x[indices[i, j, k], j, k] for axis 0, and alike for others; negative "
            "indices count from the end. Input 0: x, any type. Input 1: indices, int32 or int64, "
            "of x's rank and not larger on the other axes. Output 0: x's type, indices' shape.",
        .params = {axis},
        .inputs = {2, 2},
        .index_input = 1,
        .infer = infer_gather_elements},
       {.name = "gather_nd",
        .doc = "Slices of x, picked by tuples of indices: the last axis of indices holds the "
               "tuples. Input 0: x, any type. Input 1: indices, int32 or int64. Output 0: x's "
               "type, shape indices.shape[:-1] + x.shape[batch_dims + tuple length:].",
        .params = {{"batch_dims", 0,
                    "leading axes that both inputs share and that are not indexed"}},
        .inputs = {2, 2},
        .index_input = 1,
        .infer = infer_gather_nd}});
}

}  // namespace softneuro
