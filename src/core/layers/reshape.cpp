// The layers whose output is the input's bytes under another shape: reshape, flatten, squeeze,
// unsqueeze, identity.
#include <algorithm>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// --- reshape -------------------------------------------------------------------------------------

// The dimensions of a reshape but −1, which stays unknown; `inferred` is its axis, or −1.
// Copied dimensions cancel: what is left of the input (`rest`) must have as many elements as the
// dimensions that shape spells out (`made`) and the inferred one together.
struct ReshapeParts {
  std::vector<Dim> dims;
  std::vector<Dim> rest;
  std::vector<Dim> made;
  int inferred = -1;
};

// The axis of x that a dimension known by name copies: its own place first; −1 if there is none.
int axis_of_symbol(const DynamicShape& x, const std::vector<bool>& copied,
                   const std::string& symbol, std::size_t place) {
  const auto matches = [&](std::size_t axis) {
    return axis < copied.size() && !copied[axis] && x[static_cast<int>(axis)] == Dim(symbol);
  };
  if (matches(place)) return static_cast<int>(place);
  for (std::size_t axis = 0; axis < copied.size(); ++axis)
    if (matches(axis)) return static_cast<int>(axis);
  return -1;
}

Result<ReshapeParts> take_apart(const DynamicShape& x, std::span<const KnownInteger> shape,
                                bool allow_zero) {
  ReshapeParts parts;
  std::vector<bool> copied(static_cast<std::size_t>(x.rank()), false);
  // First what 0 copies: a symbol of the same size stands for another axis, or for none.
  for (std::size_t i = 0; i < std::min(shape.size(), copied.size()); ++i)
    copied[i] = shape[i].value == 0 && !allow_zero;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].value) {
      parts.dims.push_back(shape[i].dim());
      const int axis = axis_of_symbol(x, copied, shape[i].symbol, i);
      if (axis >= 0)
        copied[static_cast<std::size_t>(axis)] = true;
      else
        parts.made.push_back(shape[i].dim());
      continue;
    }
    const std::int64_t wanted = *shape[i].value;
    if (wanted < -1) return invalid_model("shape[{}] is {}, must be at least −1", i, wanted);
    if (wanted == -1) {
      if (parts.inferred >= 0) return invalid_model("shape holds −1 more than once");
      parts.inferred = static_cast<int>(i);
      parts.dims.emplace_back();
    } else if (wanted == 0 && !allow_zero) {
      if (!x.ranked()) {
        parts.dims.emplace_back();
        parts.made.emplace_back();
        continue;
      }
      if (static_cast<int>(i) >= x.rank())
        return invalid_model("shape[{}] is 0, which copies a dimension that input {} lacks", i,
                             x.str());
      parts.dims.push_back(x[static_cast<int>(i)]);
    } else {
      parts.dims.emplace_back(wanted);
      parts.made.emplace_back(wanted);
    }
  }
  for (int i = 0; i < x.rank(); ++i)
    if (!copied[static_cast<std::size_t>(i)]) parts.rest.push_back(x[i]);
  return parts;
}

bool all_known(std::span<const Dim> dims) {
  for (const Dim& dim : dims)
    if (!dim.known()) return false;
  return true;
}

// The dimension that makes both sides of a reshape equal: rest / made.
Result<Dim> inferred_dim(const ReshapeParts& parts) {
  SN_ASSIGN_OR_RETURN(const Dim made, product_of(parts.made));
  if (made.known() && made.value == 0)
    return invalid_model("−1 in a shape of no elements could be anything");
  SN_ASSIGN_OR_RETURN(const Dim rest, product_of(parts.rest));
  if (rest.known() && made.known()) {
    if (rest.value % made.value != 0)
      return invalid_model("{} elements cannot be cut into pieces of {}", rest.value, made.value);
    return Dim(rest.value / made.value);
  }
  // batch·4 reshaped to (−1, 4): the known factors cancel and the symbol stays.
  const Dim* unknown = nullptr;
  std::vector<Dim> known;
  for (const Dim& dim : parts.rest) {
    if (dim.known()) {
      known.push_back(dim);
    } else {
      if (unknown) return Dim();
      unknown = &dim;
    }
  }
  if (!unknown || !all_known(parts.made)) return Dim();
  const Result<Dim> factor = product_of(known);
  return factor.ok() && *factor == made ? *unknown : Dim();
}

Result<DynamicShape> reshaped(const DynamicShape& x, std::span<const KnownInteger> shape,
                              bool allow_zero) {
  SN_RETURN_IF_ERROR(check_rank(static_cast<std::int64_t>(shape.size())));
  SN_ASSIGN_OR_RETURN(ReshapeParts parts, take_apart(x, shape, allow_zero));
  if (!x.ranked()) return DynamicShape(std::move(parts.dims));
  if (parts.inferred >= 0) {
    SN_ASSIGN_OR_RETURN(parts.dims[static_cast<std::size_t>(parts.inferred)], inferred_dim(parts));
  }
  SN_ASSIGN_OR_RETURN(const Dim before, product_of(x.dims()));
  SN_ASSIGN_OR_RETURN(const Dim after, product_of(parts.dims));
  if (before.known() && after.known() && before.value != after.value)
    return invalid_model("input {} does not have as many elements as shape {}", x.str(),
                         DynamicShape(std::move(parts.dims)).str());
  return DynamicShape(std::move(parts.dims));
}

// Number of elements of value input `i`, where that is known: the rank of what it describes.
std::optional<std::int64_t> length_of(const InferContext& context, std::size_t i) {
  const DynamicShape& shape = context.shape(i);
  if (!shape.ranked()) return std::nullopt;
  if (shape.rank() == 0) return 1;
  return shape.rank() == 1 && shape[0].known() ? std::optional(shape[0].value) : std::nullopt;
}

Status infer_reshape(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  DynamicShape y;
  if (const auto shape = context.known_integers(1)) {
    SN_ASSIGN_OR_RETURN(
        y, reshaped(context.shape(0), *shape, context.params().integer("allow_zero") != 0));
  } else if (const auto rank = length_of(context, 1)) {
    SN_ASSIGN_OR_RETURN(y, unknown_dims(*rank));
    if (*rank == 1 && context.shape(0).ranked()) {
      SN_ASSIGN_OR_RETURN(y[0], product_of(context.shape(0).dims()));
    }
  }
  return context.set_shape(std::move(y));
}

// --- flatten -------------------------------------------------------------------------------------

Status infer_flatten(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const std::int64_t given = context.params().integer("axis");
  DynamicShape y({Dim(), Dim()});
  if (x.ranked()) {
    if (given < -x.rank() || given > x.rank())
      return invalid_model("axis {} is not in [−{}, {}]", given, x.rank(), x.rank());
    const auto axis = static_cast<std::size_t>(given < 0 ? given + x.rank() : given);
    const std::span<const Dim> dims(x.dims());
    SN_ASSIGN_OR_RETURN(y[0], product_of(dims.first(axis)));
    SN_ASSIGN_OR_RETURN(y[1], product_of(dims.subspan(axis)));
  }
  return context.set_shape(std::move(y));
}

// --- squeeze, unsqueeze --------------------------------------------------------------------------

// Which of `rank` axes are named; an axis named twice is an error.
Result<std::vector<bool>> marked_axes(std::span<const std::int64_t> axes, int rank) {
  std::vector<bool> marked(static_cast<std::size_t>(rank), false);
  SN_ASSIGN_OR_RETURN(const std::vector<int> distinct, distinct_axes(axes, rank, 0));
  for (const int axis : distinct) marked[static_cast<std::size_t>(axis)] = true;
  return marked;
}

Result<DynamicShape> squeezed(const DynamicShape& x, std::span<const std::int64_t> axes) {
  SN_ASSIGN_OR_RETURN(const std::vector<bool> removed, marked_axes(axes, x.rank()));
  DynamicShape y(std::vector<Dim>{});
  for (int i = 0; i < x.rank(); ++i) {
    if (!removed[static_cast<std::size_t>(i)])
      y.dims().push_back(x[i]);
    else if (x[i].known() && x[i].value != 1)
      return invalid_model("axis {} of input {} is to be removed, but its size is not 1", i,
                           x.str());
  }
  return y;
}

// Without axes all dimensions of 1 go: the rank is known only if every dimension is.
DynamicShape squeezed(const DynamicShape& x) {
  if (!x.is_static()) return {};
  DynamicShape y(std::vector<Dim>{});
  for (const Dim& dim : x.dims())
    if (dim.value != 1) y.dims().push_back(dim);
  return y;
}

Status infer_squeeze(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  DynamicShape y;
  if (!context.has_input(1)) {
    y = squeezed(x);
  } else {
    SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
    const auto axes = context.integers(1);
    const auto count = length_of(context, 1);
    if (axes && x.ranked()) {
      SN_ASSIGN_OR_RETURN(y, squeezed(x, *axes));
    } else if (count && x.ranked()) {
      if (*count > x.rank())
        return invalid_model("{} axes of input {} are to be removed", *count, x.str());
      SN_ASSIGN_OR_RETURN(y, unknown_dims(x.rank() - *count));
    }
  }
  return context.set_shape(std::move(y));
}

Result<DynamicShape> unsqueezed(const DynamicShape& x, std::span<const std::int64_t> axes) {
  const auto rank = x.rank() + static_cast<std::int64_t>(axes.size());
  SN_RETURN_IF_ERROR(check_rank(rank));
  SN_ASSIGN_OR_RETURN(const std::vector<bool> added, marked_axes(axes, static_cast<int>(rank)));
  DynamicShape y(std::vector<Dim>{});
  int next = 0;
  for (const bool is_new : added) y.dims().push_back(is_new ? Dim(1) : x[next++]);
  return y;
}

Status infer_unsqueeze(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  const auto axes = context.integers(1);
  const auto count = length_of(context, 1);
  DynamicShape y;
  if (axes && x.ranked()) {
    SN_ASSIGN_OR_RETURN(y, unsqueezed(x, *axes));
  } else if (count && x.ranked()) {
    SN_RETURN_IF_ERROR(check_rank(*count));
    SN_ASSIGN_OR_RETURN(y, unknown_dims(x.rank() + *count));
  }
  return context.set_shape(std::move(y));
}

// --- what is known without a kernel --------------------------------------------------------------

// Any change of shape between ranks 0 and 1 keeps the elements.
std::optional<ShapeValue> reshaped_values(const KnownInputs& inputs) {
  const ShapeValue* x = inputs.value(0);
  const DynamicShape& shape = inputs.output_shape();
  if (x == nullptr || !shape.is_static() ||
      shape.to_shape().elements() != static_cast<std::int64_t>(x->elements.size()))
    return std::nullopt;
  return ShapeValue{shape.rank(), x->elements};
}

int always_input_0(const InferContext&) {
  return 0;
}

}  // namespace

Status register_layer_reshape(LayerTypes& types) {
  return types.add_all(
      {{.name = "reshape",
        .doc = "The elements of x, in order, under another shape. Input 0: x, any type. Input 1: "
               "shape, int64, 1-D: −1 (at most once) takes what is left, 0 copies the input's "
               "dimension unless allow_zero is 1. Output 0: as many elements.",
        .params = {{"allow_zero", 0, "1: a 0 in shape means a dimension of no elements"}},
        .inputs = {2, 2},
        .value_inputs = {{1, ValueKind::shape}},
        .is_view = true,
        .infer = infer_reshape,
        .known_values = reshaped_values,
        .equal_input = input_of_same_shape},
       {.name = "flatten",
        .doc = "x as a matrix: the dimensions before `axis` become rows, the others columns. Input "
               "0: x, any type and rank. Output 0: 2-D.",
        .params = {{"axis", 1, "first axis that belongs to the columns, in [−rank, rank]"}},
        .is_view = true,
        .infer = infer_flatten,
        .known_values = reshaped_values,
        .equal_input = input_of_same_shape},
       {.name = "squeeze",
        .doc = "x without dimensions of size 1. Input 0: x, any type. Input 1 (optional): axes, "
               "int64, 1-D: which to remove; left out: all of size 1.",
        .inputs = {1, 2},
        .value_inputs = {{1, ValueKind::axes}},
        .is_view = true,
        .infer = infer_squeeze,
        .known_values = reshaped_values,
        .equal_input = input_of_same_shape},
       {.name = "unsqueeze",
        .doc = "x with dimensions of size 1 put in. Input 0: x, any type. Input 1: axes, int64, "
               "1-D: axes of the output that are new.",
        .inputs = {2, 2},
        .value_inputs = {{1, ValueKind::axes}},
        .is_view = true,
        .infer = infer_unsqueeze,
        .known_values = reshaped_values,
        .equal_input = input_of_same_shape},
       {.name = "identity",
        .doc = "x itself. Input 0: x, any type and shape. Output 0: the same.",
        .is_view = true,
        .infer = infer_like_input,
        .known_values = same_values,
        .equal_input = always_input_0}});
}

}  // namespace softneuro
