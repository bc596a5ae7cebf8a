#include "passes/weights.h"

#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

bool is_real_constant(const TensorDef& def, DataType type) {
  return def.is_constant() && def.type == type && is_float(type);
}

// The bias as doubles; zeros if there is none.
std::vector<double> bias_of(const Rewriter& rewriter, const WeightedLayer& weighted) {
  const Layer& layer = rewriter.layer(weighted.layer);
  if (has_input(layer, 2))
    if (auto values = vector_of(rewriter.graph(), layer.inputs[2], weighted.outputs))
      return *std::move(values);
  return std::vector<double>(static_cast<std::size_t>(weighted.outputs), 0.0);
}

// Per-channel quantisation around zero follows the channels' scales; any other is lost and made
// again from the weights when a routine wants it.
std::optional<Quantization> scaled_quantization(const TensorDef& weights,
                                                const WeightedLayer& weighted,
                                                const std::vector<double>& scale) {
  if (!weights.quantization || weighted.kind == WeightedLayer::Kind::conv_transpose)
    return std::nullopt;
  Quantization q = *weights.quantization;
  const int output_axis =
      weighted.kind == WeightedLayer::Kind::dense && !weighted.transposed ? 1 : 0;
  const bool symmetric = std::all_of(q.zero_points.begin(), q.zero_points.end(),
                                     [](std::int32_t z) { return z == 0; });
  if (!q.is_signed || q.axis != output_axis || !symmetric || q.scales.size() != scale.size())
    return std::nullopt;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    q.scales[i] = static_cast<float>(q.scales[i] * std::fabs(scale[i]));
    if (!(q.scales[i] > 0) || !std::isfinite(q.scales[i])) return std::nullopt;
  }
  return q;
}

void set_weights(Rewriter& rewriter, int i, Tensor weights, std::optional<Quantization> q) {
  const TensorId old = rewriter.layer(i).inputs[1];
  const TensorId id = rewriter.add_constant(rewriter.tensor(old).name, std::move(weights));
  rewriter.graph().tensor(id).quantization = std::move(q);
  rewriter.set_input(i, 1, id);
}

void set_bias(Rewriter& rewriter, int i, Tensor bias) {
  const Layer& layer = rewriter.layer(i);
  const std::string name =
      has_input(layer, 2) ? rewriter.tensor(layer.inputs[2]).name : layer.name + "_bias";
  rewriter.set_own_input(i, 2, rewriter.add_constant(name, std::move(bias)));
}

bool all_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

}  // namespace

std::int64_t WeightedLayer::input_of(std::int64_t i) const {
  switch (kind) {
    case Kind::conv: {  // [M, C/group, K…]
      const std::int64_t per_group = inputs / groups;
      const std::int64_t group = i / (per_group * kernel) / (outputs / groups);
      return group * per_group + i / kernel % per_group;
    }
    case Kind::conv_transpose:  // [C, M/group, K…]
      return i / (outputs / groups * kernel);
    case Kind::dense:
      break;
  }
  return transposed ? i % inputs : i / outputs;
}

std::int64_t WeightedLayer::output_of(std::int64_t i) const {
  switch (kind) {
    case Kind::conv:
      return i / (inputs / groups * kernel);
    case Kind::conv_transpose: {
      const std::int64_t per_group = outputs / groups;
      const std::int64_t group = i / (per_group * kernel) / (inputs / groups);
      return group * per_group + i / kernel % per_group;
    }
    case Kind::dense:
      break;
  }
  return transposed ? i / inputs : i % outputs;
}

std::optional<WeightedLayer> weighted_layer(const Rewriter& rewriter, int i) {
  if (i < 0) return std::nullopt;
  const Layer& layer = rewriter.layer(i);
  if (layer.own_inputs < 2 || !layer.post_ops.empty()) return std::nullopt;
  const bool conv = spatial_rank(layer, "conv") > 0;
  const bool conv_transpose = spatial_rank(layer, "conv_transpose") > 0;
  if (!conv && !conv_transpose && layer.type->name != "dense") return std::nullopt;
  const DataType type = rewriter.tensor(layer.outputs[0]).type;
  const TensorDef& w = rewriter.tensor(layer.inputs[1]);
  if (!is_real_constant(w, type) || w.constant.elements() <= 0 ||
      (has_input(layer, 2) && !is_real_constant(rewriter.tensor(layer.inputs[2]), type)))
    return std::nullopt;

  const Shape& shape = w.constant.shape();
  WeightedLayer weighted;
  weighted.layer = i;
  if (shape.rank() < 2) return std::nullopt;
  if (!conv && !conv_transpose) {
    weighted.kind = WeightedLayer::Kind::dense;
    weighted.transposed = layer.params.integer("transpose_weights") != 0;
    weighted.inputs = shape[weighted.transposed ? 1 : 0];
    weighted.outputs = shape[weighted.transposed ? 0 : 1];
    return weighted;
  }
  weighted.groups = layer.params.integer("group", 1);
  weighted.kernel = shape.elements(2, shape.rank());
  if (weighted.groups < 1 || shape[0] % weighted.groups != 0) return std::nullopt;
  weighted.kind = conv ? WeightedLayer::Kind::conv : WeightedLayer::Kind::conv_transpose;
  weighted.inputs = conv ? shape[1] * weighted.groups : shape[0];
  weighted.outputs = conv ? shape[0] : shape[1] * weighted.groups;
  return weighted;
}

int channel_axis(const WeightedLayer& weighted, int rank) {
  return weighted.kind == WeightedLayer::Kind::dense ? rank - 1 : 1;
}

Result<bool> fold_after(Rewriter& rewriter, const WeightedLayer& weighted,
                        const std::vector<double>& scale, const std::vector<double>& shift) {
  const TensorDef& w = rewriter.tensor(rewriter.layer(weighted.layer).inputs[1]);
  std::vector<double> bias = bias_of(rewriter, weighted);
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = scale[c] * bias[c] + shift[c];
  Allocator& allocator = rewriter.context().allocator();
  SN_ASSIGN_OR_RETURN(Tensor new_bias, make_vector(w.type, bias, allocator));
  if (!all_finite(new_bias)) return false;
  if (std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; })) {
    SN_ASSIGN_OR_RETURN(Tensor new_weights,
                        map_elements(w.constant, allocator, [&](std::int64_t i, double value) {
                          return value * scale[static_cast<std::size_t>(weighted.output_of(i))];
                        }));
    if (!all_finite(new_weights)) return false;
    set_weights(rewriter, weighted.layer, std::move(new_weights),
                scaled_quantization(w, weighted, scale));
  }
  if (has_input(rewriter.layer(weighted.layer), 2) || !all_zero(bias))
    set_bias(rewriter, weighted.layer, std::move(new_bias));
  return true;
}

Result<bool> fold_before(Rewriter& rewriter, const WeightedLayer& weighted,
                         const std::vector<double>& scale, const std::vector<double>& shift) {
  const TensorDef& w = rewriter.tensor(rewriter.layer(weighted.layer).inputs[1]);
  std::vector<double> bias = bias_of(rewriter, weighted);
  Allocator& allocator = rewriter.context().allocator();
  SN_ASSIGN_OR_RETURN(Tensor new_weights,
                      map_elements(w.constant, allocator, [&](std::int64_t i, double value) {
                        const auto c = static_cast<std::size_t>(weighted.input_of(i));
                        bias[static_cast<std::size_t>(weighted.output_of(i))] += value * shift[c];
                        return value * scale[c];
                      }));
  SN_ASSIGN_OR_RETURN(Tensor new_bias, make_vector(w.type, bias, allocator));
  if (!all_finite(new_weights) || !all_finite(new_bias)) return false;
  set_weights(rewriter, weighted.layer, std::move(new_weights), std::nullopt);
  if (has_input(rewriter.layer(weighted.layer), 2) || !all_zero(bias))
    set_bias(rewriter, weighted.layer, std::move(new_bias));
  return true;
}

}  // namespace softneuro
