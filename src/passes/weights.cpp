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
  if (const std::size_t bias = weighted.type->bias; has_input(layer, bias))
    if (auto values = vector_of(rewriter.graph(), layer.inputs[bias], weighted.outputs))
      return *std::move(values);
  return std::vector<double>(static_cast<std::size_t>(weighted.outputs), 0.0);
}

// Per-channel quantisation around zero follows the channels' scales; any other is lost and made
// again from the weights when a routine wants it.
std::optional<Quantization> scaled_quantization(const TensorDef& weights,
                                                const WeightedLayer& weighted,
                                                const std::vector<double>& scale) {
  if (!weights.quantization) return std::nullopt;
  Quantization q = *weights.quantization;
  const bool symmetric = std::all_of(q.zero_points.begin(), q.zero_points.end(),
                                     [](std::int32_t z) { return z == 0; });
  if (!q.is_signed || q.axis != weighted.output_axis || !symmetric ||
      q.scales.size() != scale.size())
    return std::nullopt;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    q.scales[i] = static_cast<float>(q.scales[i] * std::fabs(scale[i]));
    if (!(q.scales[i] > 0) || !std::isfinite(q.scales[i])) return std::nullopt;
  }
  return q;
}

TensorId weights_of(const Rewriter& rewriter, const WeightedLayer& weighted) {
  return rewriter.layer(weighted.layer).inputs[weighted.type->input];
}

bool has_bias(const Rewriter& rewriter, const WeightedLayer& weighted) {
  return has_input(rewriter.layer(weighted.layer), weighted.type->bias);
}

void set_weights(Rewriter& rewriter, const WeightedLayer& weighted, Tensor weights,
                 std::optional<Quantization> q) {
  const TensorId old = weights_of(rewriter, weighted);
  const TensorId id = rewriter.add_constant(rewriter.tensor(old).name, std::move(weights));
  rewriter.tensor(id).quantization = std::move(q);
  rewriter.set_input(weighted.layer, weighted.type->input, id);
}

void set_bias(Rewriter& rewriter, const WeightedLayer& weighted, Tensor bias) {
  const Layer& layer = rewriter.layer(weighted.layer);
  const std::size_t place = weighted.type->bias;
  const std::string name =
      has_input(layer, place) ? rewriter.tensor(layer.inputs[place]).name : layer.name + "_bias";
  rewriter.set_input(weighted.layer, place, rewriter.add_constant(name, std::move(bias)));
}

bool all_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

// Index of element `i` of the weights on axis 0, and on axis 1 counted over all groups.
std::int64_t row_of(const WeightedLayer& w, std::int64_t i) {
  return i / (w.columns * w.kernel);
}
std::int64_t column_of(const WeightedLayer& w, std::int64_t i) {
  const std::int64_t group = row_of(w, i) / (w.rows / w.groups);
  return group * w.columns + i / w.kernel % w.columns;
}

}  // namespace

std::int64_t WeightedLayer::input_of(std::int64_t i) const {
  return output_axis == 0 ? column_of(*this, i) : row_of(*this, i);
}

std::int64_t WeightedLayer::output_of(std::int64_t i) const {
  return output_axis == 0 ? row_of(*this, i) : column_of(*this, i);
}

std::optional<WeightedLayer> weighted_layer(const Rewriter& rewriter, int i) {
  if (i < 0) return std::nullopt;
  const Layer& layer = rewriter.layer(i);
  if (!layer.type->weights || !layer.post_ops.empty()) return std::nullopt;
  const LayerWeights& type = *layer.type->weights;
  if (!has_input(layer, type.input)) return std::nullopt;
  const DataType data_type = rewriter.tensor(layer.outputs[0]).type;
  const TensorDef& w = rewriter.tensor(layer.inputs[type.input]);
  if (!is_real_constant(w, data_type) || w.constant.elements() <= 0 ||
      (has_input(layer, type.bias) &&
       !is_real_constant(rewriter.tensor(layer.inputs[type.bias]), data_type)))
    return std::nullopt;

  const Shape& shape = w.constant.shape();
  if (shape.rank() < 2) return std::nullopt;
  WeightedLayer weighted;
  weighted.layer = i;
  weighted.type = &type;
  weighted.output_axis = type.output_axis(layer.params);
  weighted.sums_all = type.sums_all != nullptr && type.sums_all(layer.params);
  weighted.rows = shape[0];
  weighted.columns = shape[1];
  weighted.groups = type.groups(layer.params);
  weighted.kernel = shape.elements(2, shape.rank());
  if (weighted.groups < 1 || shape[0] % weighted.groups != 0) return std::nullopt;
  const std::int64_t all_columns = weighted.columns * weighted.groups;
  weighted.inputs = weighted.output_axis == 0 ? all_columns : weighted.rows;
  weighted.outputs = weighted.output_axis == 0 ? weighted.rows : all_columns;
  return weighted;
}

namespace {

// scale[c]·y + shift[c] per output channel c, as new weights and bias. False, and nothing is
// changed, if a result is not finite.
Result<bool> fold_after(Rewriter& rewriter, const WeightedLayer& weighted,
                        const PerChannel& affine) {
  const TensorDef& w = rewriter.tensor(weights_of(rewriter, weighted));
  std::vector<double> bias = bias_of(rewriter, weighted);
  for (std::size_t c = 0; c < bias.size(); ++c)
    bias[c] = affine.scale[c] * bias[c] + affine.shift[c];
  Allocator& allocator = rewriter.context().allocator();
  SN_ASSIGN_OR_RETURN(Tensor new_bias, make_vector(w.type, bias, allocator));
  if (!all_finite(new_bias)) return false;
  if (std::any_of(affine.scale.begin(), affine.scale.end(), [](double s) { return s != 1; })) {
    SN_ASSIGN_OR_RETURN(
        Tensor new_weights, map_elements(w.constant, allocator, [&](std::int64_t i, double value) {
          return value * affine.scale[static_cast<std::size_t>(weighted.output_of(i))];
        }));
    if (!all_finite(new_weights)) return false;
    set_weights(rewriter, weighted, std::move(new_weights),
                scaled_quantization(w, weighted, affine.scale));
  }
  if (has_bias(rewriter, weighted) || !all_zero(bias))
    set_bias(rewriter, weighted, std::move(new_bias));
  return true;
}

// The same for an input x that was scale[c]·x + shift[c].
Result<bool> fold_before(Rewriter& rewriter, const WeightedLayer& weighted,
                         const PerChannel& affine) {
  const TensorDef& w = rewriter.tensor(weights_of(rewriter, weighted));
  std::vector<double> bias = bias_of(rewriter, weighted);
  Allocator& allocator = rewriter.context().allocator();
  SN_ASSIGN_OR_RETURN(
      Tensor new_weights, map_elements(w.constant, allocator, [&](std::int64_t i, double value) {
        const auto c = static_cast<std::size_t>(weighted.input_of(i));
        bias[static_cast<std::size_t>(weighted.output_of(i))] += value * affine.shift[c];
        return value * affine.scale[c];
      }));
  SN_ASSIGN_OR_RETURN(Tensor new_bias, make_vector(w.type, bias, allocator));
  if (!all_finite(new_weights) || !all_finite(new_bias)) return false;
  set_weights(rewriter, weighted, std::move(new_weights), std::nullopt);
  if (has_bias(rewriter, weighted) || !all_zero(bias))
    set_bias(rewriter, weighted, std::move(new_bias));
  return true;
}

}  // namespace

Result<bool> fold_next(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of) {
  const TensorId y = rewriter.layer(weighted.layer).outputs[0];
  const DynamicShape& shape = rewriter.tensor(y).shape;
  if (!rewriter.has_single_use(y) || !shape.ranked()) return false;
  const int next = rewriter.uses().first(y)->layer;
  const auto affine =
      affine_of(rewriter, next, y, weighted.outputs, weighted.type->channel_axis_of(shape.rank()));
  if (!affine) return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_after(rewriter, weighted, *affine));
  if (folded) absorb(rewriter, weighted.layer, next);
  return folded;
}

Result<bool> fold_previous(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of) {
  const TensorId x = rewriter.layer(weighted.layer).inputs[0];
  const DynamicShape& shape = rewriter.tensor(x).shape;
  const int before = rewriter.producer(x);
  if (before < 0 || !rewriter.layer(before).post_ops.empty() || !rewriter.has_single_use(x) ||
      !shape.ranked() || shape.rank() < 1)
    return false;
  for (const TensorId source : rewriter.layer(before).inputs) {
    if (source == kNoTensor || rewriter.tensor(source).is_constant()) continue;
    const auto affine = affine_of(rewriter, before, source, weighted.inputs,
                                  weighted.type->channel_axis_of(shape.rank()));
    if (!affine || (!all_zero(affine->shift) && !weighted.sums_all)) continue;
    SN_ASSIGN_OR_RETURN(const bool folded, fold_before(rewriter, weighted, *affine));
    if (folded) absorb_before(rewriter, weighted.layer, 0, before, source);
    return folded;
  }
  return false;
}

}  // namespace softneuro
