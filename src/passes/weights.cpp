#include "passes/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/rounding.h"

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

bool scales(const PerChannel& affine) {
  return std::any_of(affine.scale.begin(), affine.scale.end(), [](double s) { return s != 1; });
}

// What rounding makes of numbers, summed up per channel.
struct RoundingLoss {
  std::vector<double> size, lost;  // of the exact numbers; by rounding them
  double largest = 0;              // number

  explicit RoundingLoss(std::size_t channels) : size(channels), lost(channels) {}
  // `exact` is a double's product, itself rounded below the normal range.
  void add(std::size_t channel, double exact, double kept) {
    constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
    size[channel] += std::fabs(exact);
    lost[channel] += std::fabs(exact - kept) + (std::isnormal(exact) ? 0 : kSmallest);
    largest = std::max(largest, std::fabs(exact));
  }
  // No more than of numbers in the normal range.
  bool is_usual(DataType type) const {
    const double most = unit_roundoff(type);
    for (std::size_t c = 0; c < size.size(); ++c)
      if (!(lost[c] <= most * size[c])) return false;
    return true;
  }
  bool is_none() const {
    return std::all_of(lost.begin(), lost.end(), [](double l) { return l == 0; });
  }
};

// The largest weight that leaves as much of the range to what it is multiplied by. Sums of 16-bit
// types are computed in float32.
double most_weight(DataType type) {
  return type == DataType::float64 ? 0x1p512 : 0x1p64;
}

// Products with it are exact where all else is a whole number.
bool keeps_whole(double scale) {
  return is_power_of_two(scale) || scale == std::nearbyint(scale);
}

// The weights times the scale of their channel. Empty if rounding them loses more than it does in
// the normal range, if they become so large that sums might overflow, or if anything is lost of
// weights that all are whole numbers: such layers may sum without rounding.
template <class ChannelOf>
Result<Tensor> scaled_weights(const Tensor& weights, const std::vector<double>& scale,
                              ChannelOf channel_of, Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(Tensor made, Tensor::create(weights.data_type(), weights.shape(), allocator));
  const TensorView from = view_of(weights), to = view_of(made);
  const std::int64_t count = from.elements();
  RoundingLoss loss(scale.size());
  const bool whole = dispatch(from.type, false, [&](auto tag) {
    using T = decltype(tag);
    bool all_whole = true;
    for (std::int64_t i = 0; i < count; ++i) {
      const double w = to_double(from.as<T>()[i]);
      const auto c = static_cast<std::size_t>(channel_of(i));
      const T kept = from_double<T>(w * scale[c]);
      to.as_mutable<T>()[i] = kept;
      if (w != 0 && scale[c] != 0) loss.add(c, w * scale[c], to_double(kept));
      all_whole &= w == std::nearbyint(w);
    }
    return all_whole;
  });
  const bool exact = loss.is_none() && std::all_of(scale.begin(), scale.end(), keeps_whole);
  if (!loss.is_usual(from.type) || loss.largest > most_weight(from.type) || (whole && !exact))
    return Tensor();
  return made;
}

// False, and nothing is changed, if the weights cannot take the scale in (scaled_weights) or a bias
// is not finite.
Result<bool> fold(Rewriter& rewriter, const WeightedLayer& weighted, const PerChannel& affine,
                  bool before, const std::vector<double>& bias) {
  const TensorDef& w = rewriter.tensor(weights_of(rewriter, weighted));
  Allocator& allocator = rewriter.context().allocator();
  SN_ASSIGN_OR_RETURN(Tensor new_bias, make_vector(w.type, bias, allocator));
  if (!all_finite(new_bias)) return false;
  if (scales(affine)) {
    const auto channel_of = [&](std::int64_t i) {
      return before ? weighted.input_of(i) : weighted.output_of(i);
    };
    SN_ASSIGN_OR_RETURN(Tensor new_weights,
                        scaled_weights(w.constant, affine.scale, channel_of, allocator));
    if (new_weights.empty()) return false;
    set_weights(rewriter, weighted, std::move(new_weights),
                before ? std::nullopt : scaled_quantization(w, weighted, affine.scale));
  }
  if (has_bias(rewriter, weighted) || !all_zero(bias))
    set_bias(rewriter, weighted, std::move(new_bias));
  return true;
}

// scale[c]·y + shift[c] per output channel c, as new weights and bias.
Result<bool> fold_after(Rewriter& rewriter, const WeightedLayer& weighted,
                        const PerChannel& affine) {
  std::vector<double> bias = bias_of(rewriter, weighted);
  for (std::size_t c = 0; c < bias.size(); ++c)
    bias[c] = affine.scale[c] * bias[c] + affine.shift[c];
  return fold(rewriter, weighted, affine, /*before=*/false, bias);
}

// The same for an input x that was scale[c]·x + shift[c].
Result<bool> fold_before(Rewriter& rewriter, const WeightedLayer& weighted,
                         const PerChannel& affine) {
  std::vector<double> bias = bias_of(rewriter, weighted);
  if (!all_zero(affine.shift)) {
    const Tensor& weights = rewriter.tensor(weights_of(rewriter, weighted)).constant;
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      bias[static_cast<std::size_t>(weighted.output_of(i))] +=
          load(view_of(weights), i) * affine.shift[static_cast<std::size_t>(weighted.input_of(i))];
  }
  return fold(rewriter, weighted, affine, /*before=*/true, bias);
}

// So many layers in front are looked at together: minus mean, by deviation, times factor, plus
// bias.
constexpr int kMostAffinesInRow = 4;

struct Affine {
  TensorId x = kNoTensor;
  PerChannel function;
};

// The layer `i`, whose output has one use, as a function of one of its inputs.
std::optional<Affine> affine_layer(const Rewriter& rewriter, const WeightedLayer& weighted, int i,
                                   AffineOf affine_of) {
  if (i < 0 || !rewriter.layer(i).post_ops.empty()) return std::nullopt;
  const TensorId y = rewriter.layer(i).outputs[0];
  const DynamicShape& shape = rewriter.tensor(y).shape;
  if (!rewriter.has_single_use(y) || !shape.ranked() || shape.rank() < 1) return std::nullopt;
  for (const TensorId x : rewriter.layer(i).inputs) {
    if (x == kNoTensor || rewriter.tensor(x).is_constant() ||
        !same_shape(rewriter.tensor(x).shape, shape))
      continue;
    auto function =
        affine_of(rewriter, i, x, weighted.inputs, weighted.type->channel_axis_of(shape.rank()));
    if (function) return Affine{x, *std::move(function)};
  }
  return std::nullopt;
}

bool is_large(const PerChannel& affine) {
  for (std::size_t c = 0; c < affine.shift.size(); ++c) {
    const double unit = affine.unit.empty() ? 1 : affine.unit[c];
    if (!(std::fabs(affine.shift[c]) <= kMostUnitsOfShift * unit)) return true;
  }
  return false;
}

// Whether what the layer reads is shifted too far for its weights (kMostUnitsOfShift). Seen through
// all layers that scale and shift in front: taken in one by one, the first would hide from the
// second what unit the layer's input has.
bool shifts_far(const Rewriter& rewriter, const WeightedLayer& weighted, const Affine& first,
                AffineOf affine_of) {
  PerChannel all = first.function;
  TensorId x = first.x;
  for (int n = 1; !is_large(all) && n < kMostAffinesInRow; ++n) {
    const auto next = affine_layer(rewriter, weighted, rewriter.producer(x), affine_of);
    if (!next) return false;
    for (std::size_t c = 0; c < all.scale.size(); ++c) {
      all.shift[c] += all.scale[c] * next->function.shift[c];
      all.scale[c] *= next->function.scale[c];
    }
    x = next->x;
  }
  return is_large(all);
}

}  // namespace

Result<bool> fold_next(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of) {
  const TensorId y = rewriter.layer(weighted.layer).outputs[0];
  const DynamicShape& shape = rewriter.tensor(y).shape;
  if (!rewriter.has_single_use(y) || !shape.ranked()) return false;
  const int next = rewriter.uses().first(y)->layer;
  if (!same_shape(shape, rewriter.tensor(rewriter.layer(next).outputs[0]).shape)) return false;
  const auto affine =
      affine_of(rewriter, next, y, weighted.outputs, weighted.type->channel_axis_of(shape.rank()));
  if (!affine) return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_after(rewriter, weighted, *affine));
  if (folded) absorb(rewriter, weighted.layer, next);
  return folded;
}

Result<bool> fold_previous(Rewriter& rewriter, const WeightedLayer& weighted, AffineOf affine_of) {
  const int before = rewriter.producer(rewriter.layer(weighted.layer).inputs[0]);
  const auto affine = affine_layer(rewriter, weighted, before, affine_of);
  if (!affine || (!all_zero(affine->function.shift) && !weighted.sums_all) ||
      shifts_far(rewriter, weighted, *affine, affine_of))
    return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_before(rewriter, weighted, affine->function));
  if (folded) absorb_before(rewriter, weighted.layer, 0, before, affine->x);
  return folded;
}

}  // namespace softneuro
