// sink_transposes: transposes move down, past layers that do not care for the order of axes.
//
//   f(transpose(x)) = transpose(f'(x)),   g(transpose(a), transpose(b)) = transpose(g'(a, b))
//
// for layers whose type says how (LayerType::permute_axes): element-wise ones, softmax, reductions,
// concat, slice, pad, with axes renamed and constants transposed beforehand. On their way down
// transposes meet their inverses and cancel (graphs of another image layout, transpose → softmax →
// transpose), several become one at an addition, and layers that stood behind them reach the
// convolution that they can be fused into.
#include <algorithm>
#include <cstring>

#include "core/graph/axis_permutation.h"
#include "passes/constants.h"
#include "passes/layer_context.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

using Permutation = std::vector<int>;

// What becomes of a layer in front of the transpose: axis a of its old inputs is axis perm[a] of
// the new ones.
struct Plan {
  Permutation perm;
  Permutation result_perm;       // of the output's axes, fewer if a reduction drops some
  std::vector<TensorId> inputs;  // kNoTensor: to be made from the old, constant one
  std::vector<int> transposes;   // that feed the layer
  Params params;
  std::vector<std::int64_t> axes;  // new value of the input that lists axes
  int axes_input = -1;             // −1: there is none
};

// Inputs behind these are values (axes, sizes, limits), not tensors that are transposed.
std::size_t moving_inputs(const Layer& layer) {
  return layer.type->inputs_share_axes ? layer.layer_inputs : 1;
}

// A constant operand as the layer in front of the transpose wants it: with all axes, moved back.
Result<Tensor> moved_constant(const Tensor& constant, const Permutation& perm,
                              Allocator& allocator) {
  const int rank = static_cast<int>(perm.size());
  Shape full;
  for (int i = 0; i < rank - constant.shape().rank(); ++i) full.push_back(1);
  for (const std::int64_t dim : constant.shape().dims()) full.push_back(dim);
  Shape moved = full, strides = strides_of(full);
  Shape from = strides;
  for (int a = 0; a < rank; ++a) {
    moved[perm[static_cast<std::size_t>(a)]] = full[a];
    from[perm[static_cast<std::size_t>(a)]] = strides[a];
  }
  SN_ASSIGN_OR_RETURN(Tensor result, Tensor::create(constant.data_type(), moved, allocator));
  if (result.elements() == 0) return result;
  const std::size_t size = size_of(constant.data_type());
  const auto* source = static_cast<const std::byte*>(constant.data());
  auto* target = static_cast<std::byte*>(result.mutable_data());
  Shape index = moved;
  for (int a = 0; a < rank; ++a) index[a] = 0;
  do {
    std::memcpy(target, source + static_cast<std::size_t>(offset_of(index, from)) * size, size);
    target += size;
  } while (next_index(index, moved));
  return result;
}

// Fills in what happens to the inputs; false if they are not all transposed alike.
bool plan_inputs(const Rewriter& rewriter, const Layer& layer, Plan& plan) {
  plan.inputs = layer.inputs;
  const std::size_t moving = moving_inputs(layer);
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    const TensorId id = layer.inputs[k];
    if (id == kNoTensor || (k >= moving && k < layer.layer_inputs)) continue;
    const TensorDef& def = rewriter.tensor(id);
    if (def.is_constant()) {
      if (def.constant.elements() != 1) plan.inputs[k] = kNoTensor;
      continue;
    }
    const int transpose = producer_of_type(rewriter, id, "transpose");
    if (transpose < 0 || rewriter.is_output(id)) return false;
    // Read by this layer only, be it several times.
    if (!rewriter.uses().all_of(id, [&](int reader) { return &rewriter.layer(reader) == &layer; }))
      return false;
    const TensorId x = rewriter.layer(transpose).inputs[0];
    const auto perm = permutation_of(rewriter, rewriter.layer(transpose));
    if (!perm || !rewriter.tensor(x).shape.ranked() ||
        (!plan.transposes.empty() && *perm != plan.perm))
      return false;
    plan.perm = *perm;
    plan.inputs[k] = x;
    if (std::find(plan.transposes.begin(), plan.transposes.end(), transpose) ==
        plan.transposes.end())
      plan.transposes.push_back(transpose);
  }
  if (plan.transposes.empty()) return false;
  // Constants must not have more axes than the transposed tensors, and must be there as such.
  const int rank = static_cast<int>(plan.perm.size());
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    if (layer.inputs[k] == kNoTensor || (k >= moving && k < layer.layer_inputs)) continue;
    const DynamicShape& shape = rewriter.tensor(layer.inputs[k]).shape;
    if (!shape.ranked() || shape.rank() > rank) return false;
  }
  return true;
}

// Fills in parameters and axes; false if this layer is not one that transposes can pass.
bool plan_layer(const Rewriter& rewriter, const Layer& layer, Plan& plan) {
  const TensorDef& y = rewriter.tensor(layer.outputs[0]);
  if (!y.shape.ranked()) return false;
  // Not where broadcasting makes more of it than was transposed before.
  if (layer.type->elementwise &&
      !same_shape(y.shape, rewriter.tensor(rewriter.layer(plan.transposes[0]).outputs[0]).shape))
    return false;
  const LayerContext context(rewriter.graph(), layer);
  AxisPermutation permutation{context.infer_context(), plan.perm, layer.params, plan.perm, {}, -1};
  if (!layer.type->permute_axes(permutation)) return false;
  plan.params = std::move(permutation.params);
  plan.result_perm = std::move(permutation.result_perm);
  plan.axes = std::move(permutation.axes);
  plan.axes_input = permutation.axes_input;
  return true;
}

Status carry_out(Rewriter& rewriter, int i, const Plan& plan) {
  Allocator& allocator = rewriter.context().allocator();
  const std::vector<TensorId> old_inputs = rewriter.layer(i).inputs;
  const TensorId y = rewriter.layer(i).outputs[0];
  for (std::size_t k = 0; k < old_inputs.size(); ++k) {
    TensorId id = plan.inputs[k];
    if (id == old_inputs[k]) continue;
    if (id == kNoTensor) {
      const TensorDef& def = rewriter.tensor(old_inputs[k]);
      SN_ASSIGN_OR_RETURN(Tensor moved, moved_constant(def.constant, plan.perm, allocator));
      id = rewriter.add_constant(def.name, std::move(moved));
    }
    rewriter.set_input(i, k, id);
  }
  if (plan.axes_input >= 0) {
    SN_ASSIGN_OR_RETURN(Tensor axes, make_integers(plan.axes, allocator));
    const TensorId id = rewriter.add_constant(rewriter.layer(i).name + "_axes", std::move(axes));
    rewriter.set_input(i, static_cast<std::size_t>(plan.axes_input), id);
  }
  rewriter.layer(i).params = plan.params;

  // y' is y before the transpose: y.shape[a] = y'.shape[perm[a]].
  const TensorDef& result = rewriter.tensor(y);
  TensorDef def = result;
  def.name += "_moved";
  for (std::size_t a = 0; a < plan.result_perm.size(); ++a)
    def.shape[plan.result_perm[a]] = result.shape[static_cast<int>(a)];
  if (def.quantization && def.quantization->axis >= 0)
    def.quantization->axis = plan.result_perm[static_cast<std::size_t>(result.quantization->axis)];
  const TensorId moved = rewriter.add_tensor(std::move(def));
  rewriter.set_output(i, 0, moved);

  // One of the transposes does the rest; the others are gone.
  const int transpose = plan.transposes[0];
  for (std::size_t t = 1; t < plan.transposes.size(); ++t) {
    rewriter.add_sources(transpose, plan.transposes[t]);
    rewriter.remove(plan.transposes[t]);
  }
  rewriter.set_input(transpose, 0, moved);
  rewriter.set_output(transpose, 0, y);
  rewriter.layer(transpose).params.set(
      "perm", std::vector<std::int64_t>(plan.result_perm.begin(), plan.result_perm.end()));
  ++rewriter.context().changes;
  return {};
}

}  // namespace

Status sink_transposes(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  if (layer.type->permute_axes == nullptr || layer.outputs.size() != 1 ||
      layer.outputs[0] == kNoTensor || !layer.subgraphs.empty() || layer.inputs.empty())
    return {};
  Plan plan;
  if (!plan_inputs(rewriter, layer, plan) || !plan_layer(rewriter, layer, plan)) return {};
  // A list of axes takes the place behind the layer inputs.
  if (plan.axes_input >= 0 && layer.inputs.size() > layer.layer_inputs) return {};
  return carry_out(rewriter, i, plan);
}

}  // namespace softneuro
