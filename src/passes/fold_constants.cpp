// fold_constants: layers whose result is known beforehand become constants.
//
// That is: layers all of whose inputs are constants (run here, once, by their default routines),
// and shape arithmetic, where ShapeValues knows the result though no input is constant, because
// the shapes are (Shape → Gather → Unsqueeze → Concat → Reshape as exporters write it). Dequantised
// constants are folded too, and keep their quantisation: routines that want the quantised form make
// exactly the model's integers again.
#include <algorithm>

#include "core/evaluate.h"
#include "core/shape_values.h"
#include "passes/rewriter.h"
#include "quantization/imported.h"

namespace softneuro {
namespace {

// Multiply-adds or element moves, roughly. Routines here are slow and run on one thread.
constexpr double kMaxWork = 2e8;

double elements_of(const Rewriter& rewriter, TensorId id) {
  if (id == kNoTensor) return 0;
  const TensorDef& def = rewriter.tensor(id);
  if (!def.shape.is_static()) return 0;
  double product = 1;
  for (const Dim& dim : def.shape.dims()) product *= static_cast<double>(dim.value);
  return product;
}

// How much a layer with constant inputs would have to compute.
double work_of(const Rewriter& rewriter, const Layer& layer) {
  double in = 0, out = 0;
  for (const TensorId id : layer.inputs) in += elements_of(rewriter, id);
  for (const TensorId id : layer.outputs) out += elements_of(rewriter, id);
  const std::string& type = layer.type->name;
  const auto first_is = [&](std::string_view prefix) { return type.starts_with(prefix); };
  if (type == "matmul" || type == "dense") {
    const DynamicShape& a = rewriter.tensor(layer.inputs[0]).shape;
    double longest = 1;
    for (int i = std::max(0, a.rank() - 2); i < a.rank(); ++i)
      longest = std::max(longest, static_cast<double>(a[i].value));
    return out * longest;
  }
  if (first_is("conv")) {
    const DynamicShape& weights = rewriter.tensor(layer.inputs[1]).shape;
    const double filters = weights.rank() > 0 ? static_cast<double>(weights[0].value) : 1;
    return std::max(in, out) * elements_of(rewriter, layer.inputs[1]) / std::max(filters, 1.0);
  }
  if (first_is("max_pool") || first_is("avg_pool") || first_is("lp_pool")) {
    double window = 1;
    for (const std::int64_t k : layer.params.integers("kernel")) window *= static_cast<double>(k);
    return out * window;
  }
  if (type == "einsum" || type == "lstm" || type == "gru" || type == "rnn" ||
      type == "non_max_suppression")
    return in * std::max(out, in);
  return in + out;
}

bool has_constant_inputs(const Rewriter& rewriter, const Layer& layer) {
  return std::all_of(layer.inputs.begin(), layer.inputs.end(), [&](TensorId id) {
    return id == kNoTensor || rewriter.tensor(id).is_constant();
  });
}

void make_constant(Rewriter& rewriter, TensorId id, Tensor value) {
  TensorDef& def = rewriter.graph().tensor(id);
  def.type = value.data_type();
  def.shape = value.shape();
  def.constant = std::move(value);
}

// True if the layer's outputs are constants now. What cannot be run, or would be too large, stays.
bool fold_by_running(Rewriter& rewriter, const Layer& layer) {
  if (!layer.subgraphs.empty() || !has_constant_inputs(rewriter, layer) ||
      work_of(rewriter, layer) > kMaxWork)
    return false;
  std::vector<Tensor> inputs;
  std::int64_t bytes = 0;
  for (const TensorId id : layer.inputs) {
    inputs.push_back(id == kNoTensor ? Tensor() : rewriter.tensor(id).constant);
    bytes += static_cast<std::int64_t>(inputs.back().bytes());
  }
  const PassContext& context = rewriter.context();
  const std::int64_t limit = std::max(context.options.max_folded_bytes, 4 * bytes);
  Result<std::vector<Tensor>> outputs =
      evaluate(context.registry, layer, inputs, context.allocator(), limit);
  if (!outputs.ok()) return false;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor && (i >= outputs->size() || (*outputs)[i].empty()))
      return false;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor)
      make_constant(rewriter, layer.outputs[i], std::move((*outputs)[i]));
  return true;
}

// True if the layer's only output is a shape that is known all the same.
bool fold_by_shape(Rewriter& rewriter, const Layer& layer, ShapeValues& values) {
  values.visit(layer);
  if (layer.outputs.size() != 1 || has_constant_inputs(rewriter, layer)) return false;
  const Tensor* known = values.tensor(layer.outputs[0]);
  if (known == nullptr || known->data_type() != rewriter.tensor(layer.outputs[0]).type)
    return false;
  make_constant(rewriter, layer.outputs[0], *known);
  return true;
}

}  // namespace

Status fold_constants(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  ShapeValues values(graph);
  for (int i = 0; i < rewriter.count(); ++i) {
    const Layer& layer = rewriter.layer(i);
    std::optional<Quantization> quantization;
    if (layer.type->name == "dequantize" && layer.post_ops.empty())
      quantization = quantization_of(graph, layer);
    if (!fold_by_shape(rewriter, layer, values) && !fold_by_running(rewriter, layer)) continue;
    if (quantization && !graph.tensor(layer.outputs[0]).quantization)
      graph.tensor(layer.outputs[0]).quantization = std::move(quantization);
    rewriter.remove(i);
    rewriter.count_change();
  }
  return rewriter.finish();
}

}  // namespace softneuro
