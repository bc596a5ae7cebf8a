#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// The operand as [batch…, rows, columns]: a vector gets an axis of one; transposition is applied.
Result<DynamicShape> as_matrices(const DynamicShape& shape, bool transpose, bool first) {
  std::vector<Dim> dims = shape.dims();
  if (dims.size() == 1) {
    if (transpose)
      return invalid_model("{} of a vector: there are no two axes to swap",
                           first ? "transpose_a" : "transpose_b");
    dims.insert(first ? dims.begin() : dims.end(), Dim(1));
  } else if (transpose) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  }
  return DynamicShape(std::move(dims));
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_same_type(1, 0));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  SN_RETURN_IF_ERROR(context.expect_min_rank(1, 1));
  const DynamicShape& a = context.shape(0);
  const DynamicShape& b = context.shape(1);
  if (!a.ranked() || !b.ranked()) return context.set_shape(DynamicShape());
  SN_ASSIGN_OR_RETURN(const DynamicShape left,
                      as_matrices(a, context.params().integer("transpose_a") != 0, true));
  SN_ASSIGN_OR_RETURN(const DynamicShape right,
                      as_matrices(b, context.params().integer("transpose_b") != 0, false));
  const Dim depth_a = left[left.rank() - 1];
  const Dim depth_b = right[right.rank() - 2];
  if (depth_a.known() && depth_b.known() && depth_a.value != depth_b.value)
    return invalid_model("operands {} and {} do not match: {} columns meet {} rows", a.str(),
                         b.str(), depth_a.value, depth_b.value);
  const auto batch = [](const DynamicShape& shape) {
    return DynamicShape(std::vector<Dim>(shape.dims().begin(), shape.dims().end() - 2));
  };
  SN_ASSIGN_OR_RETURN(DynamicShape y, broadcast(batch(left), batch(right)));
  if (a.rank() > 1) y.dims().push_back(left[left.rank() - 2]);
  if (b.rank() > 1) y.dims().push_back(right[right.rank() - 1]);
  return context.set_shape(std::move(y));
}

double macs(const LayerSizes& sizes) {
  const Shape& a = *sizes.inputs[0];
  const bool swapped = a.rank() > 1 && sizes.params.integer("transpose_a") != 0;
  return LayerSizes::elements(sizes.outputs[0]) *
         static_cast<double>(a[a.rank() - (swapped ? 2 : 1)]);
}

}  // namespace

Status register_layer_matmul(LayerTypes& types) {
  return types.add({.name = "matmul",
                    .doc = "Matrix product by numpy's rules: the last two axes are matrices, those "
                           "before them batches that broadcast; a vector a is a row and a vector b "
                           "a column, whose axis of one the result does not have. Inputs: a, b, "
                           "one numeric type. Output: same type; integers wrap.",
                    .category = LayerCategory::product,
                    .params = {{"transpose_a", 0, "1: the last two axes of a are swapped"},
                               {"transpose_b", 0, "1: the last two axes of b are swapped"}},
                    .inputs = {2, 2},
                    .cancellable = true,
                    .fused_post_ops = FusedPostOps::all,
                    .infer = infer,
                    .macs = macs});
}

}  // namespace softneuro
