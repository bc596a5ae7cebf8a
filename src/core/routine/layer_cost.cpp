#include "core/routine/layer_cost.h"

#include <algorithm>
#include <string_view>

#include "core/base/tensor_view.h"
#include "core/graph/layer_type.h"
#include "core/layers/einsum_equation.h"
#include "core/layers/recurrent_options.h"

namespace softneuro {
namespace {

double elements(const TensorSpec& spec) {
  return spec.present() ? static_cast<double>(spec.shape.elements()) : 0;
}

// Multiply-accumulates for one element of the tensor that w[A,B/group,K…] is slid over: all weights
// of one index of axis 0.
double weights_per_channel(const TensorSpec& w) {
  if (w.shape.rank() < 1 || w.shape[0] == 0) return 0;
  return static_cast<double>(w.shape.elements(1, w.shape.rank()));
}

double dense_macs(const Problem& problem) {
  const Shape& w = problem.inputs[1].shape;
  const int depth_axis = problem.params.integer("transpose_weights") != 0 ? 1 : 0;
  return elements(problem.outputs[0]) * static_cast<double>(w[depth_axis]);
}

double matmul_macs(const Problem& problem) {
  const Shape& a = problem.inputs[0].shape;
  const bool swapped = a.rank() > 1 && problem.params.integer("transpose_a") != 0;
  return elements(problem.outputs[0]) * static_cast<double>(a[a.rank() - (swapped ? 2 : 1)]);
}

// Every combination of labels meets once; a product of n factors takes n − 1 multiplications.
double einsum_macs(const Problem& problem) {
  std::vector<int> ranks;
  for (const TensorSpec& input : problem.inputs) ranks.push_back(input.shape.rank());
  ranks.resize(problem.own_inputs);
  const auto plan = parse_einsum(problem.params.text("equation"), ranks);
  if (!plan.ok() || ranks.size() < 2) return 0;
  std::vector<double> sizes(static_cast<std::size_t>(plan->labels), 1);
  for (std::size_t i = 0; i < plan->inputs.size(); ++i)
    for (std::size_t axis = 0; axis < plan->inputs[i].size(); ++axis) {
      double& size = sizes[static_cast<std::size_t>(plan->inputs[i][axis])];
      const auto dim = static_cast<double>(problem.inputs[i].shape[static_cast<int>(axis)]);
      if (size == 1) size = dim;  // an axis of one broadcasts
    }
  double combinations = static_cast<double>(ranks.size() - 1);
  for (const double size : sizes) combinations *= size;
  return combinations;
}

// The two matrix products of every gate and step.
double recurrent_macs(const Problem& problem) {
  const Shape& x = problem.inputs[kRecurrentX].shape;
  const TensorSpec& w = problem.inputs[kRecurrentW];
  const TensorSpec& r = problem.inputs[kRecurrentR];
  return static_cast<double>(x[0] * x[1]) * (elements(w) + elements(r));
}

double macs_of(const Problem& problem) {
  const std::string_view type = problem.type->name;
  if (problem.inputs.size() < 2) return 0;
  if (type.starts_with("conv_transpose"))
    return elements(problem.inputs[0]) * weights_per_channel(problem.inputs[1]);
  if (type == "conv1" || type == "conv2" || type == "conv3")
    return elements(problem.outputs[0]) * weights_per_channel(problem.inputs[1]);
  if (type == "dense") return dense_macs(problem);
  if (type == "matmul") return matmul_macs(problem);
  if (type == "einsum") return einsum_macs(problem);
  if (type == "lstm" || type == "gru" || type == "rnn") return recurrent_macs(problem);
  return 0;
}

double bytes_of(const TensorSpec& spec) {
  if (!spec.present()) return 0;
  const std::int64_t bytes = storage_bytes(spec.type, spec.shape, spec.layout);
  return bytes > 0 ? static_cast<double>(bytes) : 0;
}

}  // namespace

LayerCost layer_cost(const Problem& problem) {
  LayerCost cost;
  cost.macs = macs_of(problem);
  for (const TensorSpec& spec : problem.inputs) cost.bytes += bytes_of(spec);
  if (!problem.type->data_dependent_output)
    for (const TensorSpec& spec : problem.outputs) cost.bytes += bytes_of(spec);
  return cost;
}

double layer_steps(const Problem& problem) {
  double moved = 0, made = 0;
  if (!problem.type->reads_shape_only)
    for (const TensorSpec& spec : problem.inputs) moved += elements(spec);
  if (!problem.type->data_dependent_output)
    for (const TensorSpec& spec : problem.outputs) made += elements(spec);
  const std::string_view type = problem.type->name;
  double under_window = 1;
  if (type.starts_with("max_pool") || type.starts_with("avg_pool") || type.starts_with("lp_pool"))
    for (const std::int64_t k : problem.params.integers("kernel"))
      under_window *= static_cast<double>(k);
  // Each box is held against those that were kept before it.
  if (type == "non_max_suppression") moved *= moved;
  return std::max(macs_of(problem), moved + made * under_window);
}

}  // namespace softneuro
