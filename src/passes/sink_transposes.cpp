// sink_transposes: transposes move down, past layers that do not care for the order of axes.
//
//   f(transpose(x)) = transpose(f'(x)),   g(transpose(a), transpose(b)) = transpose(g'(a, b))
//
// for element-wise layers, softmax, reductions, concat, slice, pad, with axes renamed and
// constants transposed beforehand. On their way down transposes meet their inverses and cancel
// (graphs of another image layout, transpose → softmax → transpose), several become one at an
// addition, and layers that stood behind them reach the convolution that they can be fused into.
#include <algorithm>
#include <cstring>

#include "passes/constants.h"
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
  std::vector<std::int64_t> axes;  // for layers that take a list of axes
  bool has_axes = false;
};

std::optional<Permutation> permutation_of(const Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  const DynamicShape& shape = rewriter.tensor(layer.inputs[0]).shape;
  if (!shape.ranked()) return std::nullopt;
  const auto given = layer.params.integers("perm");
  Permutation perm(given.begin(), given.end());
  for (int a = shape.rank() - 1; given.empty() && a >= 0; --a) perm.push_back(a);
  if (static_cast<int>(perm.size()) != shape.rank()) return std::nullopt;
  return perm;
}

bool is_elementwise(const std::string& type) {
  return type == "unary" || type == "binary" || type == "where" || type == "clip" || type == "cast";
}
// Inputs behind these are values (axes, sizes, limits), not tensors that are transposed.
std::size_t moving_inputs(const Layer& layer) {
  const std::string& type = layer.type->name;
  if (type == "binary" || type == "where" || type == "concat") return layer.own_inputs;
  return 1;
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
  const std::size_t own = moving_inputs(layer);
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    const TensorId id = layer.inputs[k];
    if (id == kNoTensor || (k >= own && k < layer.own_inputs)) continue;
    const TensorDef& def = rewriter.tensor(id);
    if (def.is_constant()) {
      if (def.constant.elements() != 1) plan.inputs[k] = kNoTensor;
      continue;
    }
    const int transpose = rewriter.producer_of_type(id, "transpose");
    if (transpose < 0 || rewriter.is_output(id)) return false;
    // Read by this layer only, be it several times.
    for (const int reader : rewriter.consumers(id))
      if (&rewriter.layer(reader) != &layer) return false;
    const auto perm = permutation_of(rewriter, transpose);
    if (!perm || (!plan.transposes.empty() && *perm != plan.perm)) return false;
    plan.perm = *perm;
    plan.inputs[k] = rewriter.layer(transpose).inputs[0];
    if (std::find(plan.transposes.begin(), plan.transposes.end(), transpose) ==
        plan.transposes.end())
      plan.transposes.push_back(transpose);
  }
  if (plan.transposes.empty()) return false;
  // Constants must not have more axes than the transposed tensors, and must be there as such.
  const int rank = static_cast<int>(plan.perm.size());
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    if (layer.inputs[k] == kNoTensor || (k >= own && k < layer.own_inputs)) continue;
    const DynamicShape& shape = rewriter.tensor(layer.inputs[k]).shape;
    if (!shape.ranked() || shape.rank() > rank) return false;
  }
  return true;
}

// The list of axes that a layer takes as input `k`, renamed; all of `count` axes if it is left out.
bool plan_axes(const Rewriter& rewriter, const Layer& layer, std::size_t k, std::size_t count,
               Plan& plan) {
  const int rank = static_cast<int>(plan.perm.size());
  std::vector<std::int64_t> axes;
  if (has_input(layer, k)) {
    const auto given = constant_integers(rewriter.graph(), layer, k);
    if (!given) return false;
    axes = *given;
  } else {
    for (std::size_t a = 0; a < count; ++a) axes.push_back(static_cast<std::int64_t>(a));
  }
  for (const std::int64_t axis : axes) {
    const Result<int> normal = normalize_axis(axis, rank);
    if (!normal.ok()) return false;
    plan.axes.push_back(plan.perm[static_cast<std::size_t>(*normal)]);
  }
  plan.has_axes = true;
  return true;
}

bool plan_reduction(const Rewriter& rewriter, const Layer& layer, Plan& plan) {
  const std::size_t rank = plan.perm.size();
  const auto given = constant_integers(rewriter.graph(), layer, 1);
  if (!has_input(layer, 1) && layer.params.integer("noop_with_empty_axes") != 0) return false;
  if ((given && given->empty()) || !plan_axes(rewriter, layer, 1, rank, plan)) return false;
  if (layer.params.integer("keepdims", 1) != 0) return true;
  // The axes that stay, in the order of the output, counted among those that stay.
  const auto stays = [&](int axis) {
    return std::find(plan.axes.begin(), plan.axes.end(), axis) == plan.axes.end();
  };
  plan.result_perm.clear();
  for (const int axis : plan.perm) {
    if (!stays(axis)) continue;
    int place = 0;
    for (int a = 0; a < axis; ++a) place += stays(a) ? 1 : 0;
    plan.result_perm.push_back(place);
  }
  return true;
}

// Fills in parameters and axes; false if this layer is not one that transposes can pass.
bool plan_layer(const Rewriter& rewriter, const Layer& layer, Plan& plan) {
  const std::string& type = layer.type->name;
  const TensorDef& y = rewriter.tensor(layer.outputs[0]);
  const int rank = static_cast<int>(plan.perm.size());
  plan.params = layer.params;
  plan.result_perm = plan.perm;
  if (!y.shape.ranked()) return false;
  if (is_elementwise(type)) {
    // Not where broadcasting makes more of it than was transposed before.
    const auto& maker = rewriter.layer(plan.transposes[0]);
    return same_shape(y.shape, rewriter.tensor(maker.outputs[0]).shape);
  }
  if (type == "softmax" || type == "hardmax" || type == "lp_norm" || type == "concat") {
    const Result<int> axis = normalize_axis(layer.params.integer("axis"), rank);
    if (!axis.ok()) return false;
    plan.params.set("axis", std::int64_t{plan.perm[static_cast<std::size_t>(*axis)]});
    return true;
  }
  if (type == "reduce") return plan_reduction(rewriter, layer, plan);
  if (type == "slice") {
    const auto starts = constant_integers(rewriter.graph(), layer, 1);
    return starts && plan_axes(rewriter, layer, 3, starts->size(), plan);
  }
  if (type == "pad") {
    const auto pads = constant_integers(rewriter.graph(), layer, 1);
    return pads && plan_axes(rewriter, layer, 3, pads->size() / 2, plan);
  }
  return false;
}

// Which input holds the list of axes.
std::size_t axes_input(const Layer& layer) {
  return layer.type->name == "reduce" ? 1 : 3;
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
  if (plan.has_axes) {
    SN_ASSIGN_OR_RETURN(Tensor axes, make_integers(plan.axes, allocator));
    const TensorId id = rewriter.add_constant(rewriter.layer(i).name + "_axes", std::move(axes));
    rewriter.set_own_input(i, axes_input(rewriter.layer(i)), id);
  }
  rewriter.layer(i).params = plan.params;

  // y' is y before the transpose: y.shape[a] = y'.shape[perm[a]].
  const TensorId moved = rewriter.add_tensor_like(rewriter.tensor(y).name + "_moved", y);
  TensorDef& def = rewriter.graph().tensor(moved);
  const DynamicShape& shape = rewriter.tensor(y).shape;
  for (std::size_t a = 0; a < plan.result_perm.size(); ++a)
    def.shape[plan.result_perm[a]] = shape[static_cast<int>(a)];
  if (const auto& quantization = rewriter.tensor(y).quantization) {
    Quantization same = *quantization;
    if (same.axis >= 0) same.axis = plan.result_perm[static_cast<std::size_t>(same.axis)];
    def.quantization = std::move(same);
  }
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
  rewriter.count_change();
  return {};
}

}  // namespace

Status sink_transposes(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    const Layer& layer = rewriter.layer(i);
    if (!rewriter.alive(i) || layer.outputs.size() != 1 || layer.outputs[0] == kNoTensor ||
        !layer.subgraphs.empty() || layer.inputs.empty())
      continue;
    Plan plan;
    if (!plan_inputs(rewriter, layer, plan) || !plan_layer(rewriter, layer, plan)) continue;
    // A list of axes takes the place behind the own inputs.
    if (plan.has_axes && layer.inputs.size() > layer.own_inputs) continue;
    SN_RETURN_IF_ERROR(carry_out(rewriter, i, plan));
  }
  return rewriter.finish();
}

}  // namespace softneuro
