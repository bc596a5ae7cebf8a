#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/einsum_equation.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return invalid_model("input {} is left out", i);
    SN_RETURN_IF_ERROR(context.expect_type(i, kNumericTypes));
    SN_RETURN_IF_ERROR(context.expect_same_type(i, 0));
    if (context.shape(i).ranked()) ranks.push_back(context.shape(i).rank());
  }
  if (ranks.size() != context.input_count()) return context.set_shape(DynamicShape());
  SN_ASSIGN_OR_RETURN(const EinsumPlan plan,
                      parse_einsum(context.params().text("equation"), ranks));
  // One and anything broadcast; so does what is not known yet.
  std::vector<Dim> sizes(static_cast<std::size_t>(plan.labels), Dim(1));
  for (std::size_t i = 0; i < context.input_count(); ++i)
    for (int k = 0; k < context.shape(i).rank(); ++k) {
      Dim& size = sizes[static_cast<std::size_t>(plan.inputs[i][static_cast<std::size_t>(k)])];
      const Dim dim = context.shape(i)[k];
      if (dim.known() && dim.value == 1) continue;
      if (dim.known() && size.known() && size.value != 1 && size.value != dim.value)
        return invalid_model("axis {} of input {} has {} elements, the same index elsewhere {}", k,
                             i, dim.value, size.value);
      if (dim.known() || (size.known() && size.value == 1)) size = dim;
    }
  sizes.resize(static_cast<std::size_t>(plan.output_labels));
  return context.set_shape(DynamicShape(std::move(sizes)));
}

// Every combination of labels meets once; a product of n factors takes n − 1 multiplications.
double macs(const LayerSizes& sizes) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < sizes.layer_inputs; ++i) ranks.push_back(sizes.inputs[i]->rank());
  const auto plan = parse_einsum(sizes.params.text("equation"), ranks);
  if (!plan.ok() || ranks.size() < 2) return 0;
  std::vector<double> dims(static_cast<std::size_t>(plan->labels), 1);
  for (std::size_t i = 0; i < plan->inputs.size(); ++i)
    for (std::size_t axis = 0; axis < plan->inputs[i].size(); ++axis) {
      double& dim = dims[static_cast<std::size_t>(plan->inputs[i][axis])];
      if (dim == 1)  // an axis of one broadcasts
        dim = static_cast<double>((*sizes.inputs[i])[static_cast<int>(axis)]);
    }
  double combinations = static_cast<double>(ranks.size() - 1);
  for (const double dim : dims) combinations *= dim;
  return combinations;
}

}  // namespace

Status register_layer_einsum(LayerTypes& types) {
  return types.add(
      {.name = "einsum",
       .doc =
           "Sum of products by the equation's indices, as numpy's einsum: letters name the axes of "
           "each input and of the output; those that the output lacks are summed; '...' stands for "
           "leading axes that broadcast. Inputs: any number, one numeric type. Output: same type.",
       .category = LayerCategory::product,
       .params = {{"equation", "", "as 'ij,jk->ik'", true}},
       .inputs = {1, -1},
       .cancellable = true,
       .infer = infer,
       .macs = macs});
}

}  // namespace softneuro
